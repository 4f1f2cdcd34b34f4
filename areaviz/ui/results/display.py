"""The picture of a trace on a card: a component, or a chart of the selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.draw.theme import SCREEN_WIDTH, WIDE
from areaviz.draw.view import Download, View
from areaviz.show.views import KINDS, VIEWS, find_kind
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.input_editors import draw_hops, draw_points
from areaviz.ui.components.items import draw_film_strip, draw_sound_player, draw_tree
from areaviz.ui.components.ribbon import Selection, draw_grid, draw_ribbon
from areaviz.ui.results.chart import draw_question, draw_view_chart, find_first_view

ComponentFunction = Callable[..., Selection]
"""Draws a component, and returns the selection in it."""


def _draw_nothing(_: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw no component, because places without weights have nothing to select."""
    return Selection.from_focus(focus)


_COMPONENTS: Mapping[str, ComponentFunction] = {
    "grid": draw_grid,
    "hops": draw_hops,
    "points": draw_points,
    "hearing": draw_sound_player,
    "strip": draw_film_strip,
    "tree": draw_tree,
    "ribbon": draw_ribbon,
}
"""The functions that draw components. A site of any other kind is drawn as a chart."""
_DRAWN_AS_CHART = (_draw_nothing,)
"""Components that a chart follows, because they are not the picture themselves."""
_SELF_EXPLAINING = (draw_hops, draw_points, draw_sound_player, draw_film_strip, draw_tree)
"""Components that begin with their own sentence, so that the question of the view is left out."""


def find_display(trace: Trace, focus: Focus) -> tuple[ComponentFunction, Download]:
    """Return the component for a selection, and its files."""
    kind = find_kind(trace, focus.site)
    takeaway = KINDS[kind].takeaway if kind in _COMPONENTS else None
    if takeaway is not None:
        return _COMPONENTS[kind], takeaway
    fitting = [view for view in VIEWS.values() if view.fits(trace, focus)]
    return _draw_nothing, find_first_view(fitting, trace, focus)


def has_legend(draw: ComponentFunction) -> bool:
    """Return whether users choose heads in the legend of the component."""
    return draw in (draw_ribbon, draw_grid)


def is_self_explaining(draw: ComponentFunction) -> bool:
    """Return whether the component begins with its own sentence."""
    return draw in _SELF_EXPLAINING


def has_all_layers(draw: ComponentFunction) -> bool:
    """Return whether the component shows all layers. The chosen layer then affects only tabs."""
    return draw is draw_hops


def draw_chart(trace: Trace, focus: Focus, key: str, room: float) -> None:
    """Draw the question of the picture, and its chart if the component is not the picture."""
    draw, view = find_display(trace, focus)
    if isinstance(view, View) and not is_self_explaining(draw):
        draw_question(view)
        if draw in _DRAWN_AS_CHART:
            draw_view_chart(view, trace, focus, key, room, has_files=False)


def make_columns(traces: Sequence[Trace], key: str) -> Sequence[DeltaGenerator]:
    """Return a column for each trace."""
    with st.container(key=f"pair_{key}"):
        return st.columns(len(traces), gap="medium")


def get_chart_width(traces: Sequence[Trace]) -> float:
    """Return the width of a chart of each trace in px."""
    return WIDE if len(traces) == 1 else SCREEN_WIDTH
