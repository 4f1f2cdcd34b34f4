"""The tabs of every page with a trace: the terms of a weight, the views, and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial

import streamlit as st

from areaviz.drawing.axes import common_top, relabel_for_width
from areaviz.drawing.base import View, figure_caption
from areaviz.drawing.theme import WIDE
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.items import growing
from areaviz.ui.components.ribbon import ribbon
from areaviz.ui.look.chart import chart, data_table, question, titled, view_picker
from areaviz.ui.look.display import display_of, has_legend, places, room_of
from areaviz.ui.look.downloads import Shown
from areaviz.ui.look.shared_focus import alike
from areaviz.ui.look.tabs import Tab
from areaviz.ui.look.why import TITLE as WHY_TITLE
from areaviz.ui.look.why import has_terms, why
from areaviz.ui.models.head_tables import WHAT_NAMES_MEAN, draw_heads
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.page import AnyPage, told_apart
from areaviz.ui.shell.state import BRACKETS, TABLE, VIEW, WHY
from areaviz.views.difference import difference, difference_figure, difference_table, fits

Traces = Sequence[Trace]
Titles = Sequence[str]
Selections = Sequence[Focus]
OVERVIEW = "overview"
"""The view of all heads."""


def common_tabs(page: AnyPage, traces: Traces, titles: Titles, seen: Selections) -> list[Tab]:
    """Return the tabs that every page has: the terms of a weight, the views and the numbers."""

    def draw_views(trace: Trace, focus: Focus) -> None:
        _views(page, traces, titles, seen)
        _difference(page, traces, titles, seen)

    draw, _ = display_of(traces[0], seen[0])
    views = "All words at once" if has_legend(draw) else "More views"
    brackets = [Tab(BRACKETS, "As brackets", partial(_brackets, page))] if draw is growing else []
    return [
        *brackets,
        Tab(WHY, WHY_TITLE, lambda trace, focus: why(page, trace, focus), has_terms),
        Tab(VIEW, views, draw_views),
        Tab(TABLE, "As a table", lambda trace, focus: _tables(traces, titles, seen)),
    ]


def _brackets(page: AnyPage, trace: Trace, focus: Focus) -> None:
    """Draw the tree as brackets above its sentence; a click selects a step of the tree."""
    chosen = ribbon(trace, focus, key="brackets")
    after = replace(focus, **asdict(chosen))
    if after != focus:
        page.hold(page.state.locking(after))
        st.rerun(scope="fragment")


def card_parts(traces: Traces, titles: Titles, seen: Selections) -> dict[str, Shown]:
    """Return what the card shows, by the titles of the traces."""
    parts = {}
    for title, trace, focus in zip(told_apart(titles), traces, seen, strict=True):
        parts[title] = Shown(display_of(trace, focus)[1], trace, focus)
    return parts


def _views(page: AnyPage, traces: Traces, titles: Titles, seen: Selections) -> None:
    """Draw one view of every trace with its files."""
    _, above = display_of(traces[0], seen[0])
    view = view_picker(page, traces[0], seen[0], above)
    if view is None:
        st.caption("No view is available for this selection.")
        return
    question(view)
    if not alike(traces, seen):
        st.caption(
            "The words you selected do not occur in every output, so the maps show attention for"
            " the whole output."
        )
        seen = [replace(focus, side="query", items=()) for focus in seen]
    fitting = [view.fits(trace, focus) for trace, focus in zip(traces, seen, strict=True)]
    top = _common_top(view, traces, seen) if all(fitting) else None
    room = room_of(traces)
    for index, place in enumerate(places(traces, "views")):
        with place:
            if len(traces) > 1:
                st.caption(escaped(titles[index]))
            if fitting[index]:
                chart(view, traces[index], seen[index], str(index), room, top)
                if view.name == OVERVIEW:
                    _heads(traces[index], seen[index], index)
            else:
                st.caption("This view has no data for this model.")


def _heads(trace: Trace, focus: Focus, index: int) -> None:
    """Draw what the heads of the site do over a dataset, if the model's card says so."""
    card = engine().models().get(trace.request.model)
    if card is not None and focus.site in card.heads:
        with st.expander("Head statistics over many examples", key=f"heads_over_{index}"):
            draw_heads(card, focus.site, f"overview_{index}")
            st.caption(WHAT_NAMES_MEAN)


def _common_top(view: View, traces: Traces, seen: Selections) -> float | None:
    """Return the upper end of the traces' common colour scale, None if they have their own."""
    if len(traces) == 1 or view.played:
        return None
    figures = [view.figure(trace, focus) for trace, focus in zip(traces, seen, strict=True)]
    return common_top(figures)


def _difference(page: AnyPage, traces: Traces, titles: Titles, seen: Selections) -> None:
    """Draw the difference between two maps if the user has asked for it."""
    if len(traces) != 2 or not fits(traces[0], traces[1], seen[0], seen[1]):
        return
    if page.widget(st.toggle, "Show the difference between the two maps", "differs"):
        found = difference(traces[0], traces[1], seen[0], seen[1])
        figure = relabel_for_width(difference_figure(found, (titles[0], titles[1])), WIDE)
        titled(figure, "apart_map", figure.layout.meta["title"])
        with st.expander("Data of the difference", type="compact", key="apart_numbers"):
            data_table(difference_table(found))


def _tables(traces: Traces, titles: Titles, seen: Selections) -> None:
    """Draw the numbers of the card, and the run they belong to."""
    for shown in card_parts(traces, titles, seen).values():
        st.caption(escaped(figure_caption(shown.trace, shown.focus)))
        data_table(shown.view.table(shown.trace, shown.focus))
