"""The tabs of every page with a trace: the terms of a weight, the views, and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from areaviz.draw.comparison import (
    compute_difference,
    difference_figure,
    difference_table,
    fits_difference,
)
from areaviz.draw.theme import WIDE, find_common_top, relabel_for_width
from areaviz.draw.view import View, figure_caption
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.engine import get_backend
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.page import AnyPage, make_names_unique
from areaviz.ui.app.state import BRACKETS, TABLE, VIEW, WHY
from areaviz.ui.components.items import draw_tree
from areaviz.ui.components.ribbon import draw_ribbon
from areaviz.ui.models.head_tables import WHAT_NAMES_MEAN, draw_heads
from areaviz.ui.results.chart import (
    choose_view,
    draw_data_table,
    draw_question,
    draw_titled_figure,
    draw_view_chart,
)
from areaviz.ui.results.display import find_display, get_chart_width, has_legend, make_columns
from areaviz.ui.results.downloads import ShownView
from areaviz.ui.results.shared_focus import apply_click, has_equal_selections
from areaviz.ui.results.tabs import ResultTab
from areaviz.ui.results.weight_explanation import TAB_TITLE as WHY_TITLE
from areaviz.ui.results.weight_explanation import draw_weight_explanation, has_terms

OVERVIEW = "overview"
"""The view of all heads."""


@dataclass(frozen=True, slots=True, eq=False)
class SeenTrace:
    """A trace on the card, with its title and the selection in it."""

    title: str
    trace: Trace
    focus: Focus

    @property
    def shown(self) -> ShownView:
        """The part of the trace that the card shows."""
        return ShownView(find_display(self.trace, self.focus)[1], self.trace, self.focus)


def build_common_tabs(page: AnyPage, seen: Sequence[SeenTrace]) -> list[ResultTab]:
    """Return the tabs that every page has: the terms of a weight, the views and the numbers."""

    def draw_views(trace: Trace, focus: Focus) -> None:
        _draw_views(page, seen)
        if len(seen) == 2:
            _draw_difference(page, *seen)

    draw, _ = find_display(seen[0].trace, seen[0].focus)
    views = "All words at once" if has_legend(draw) else "More views"
    brackets = (
        [ResultTab(BRACKETS, "As brackets", partial(_draw_brackets, page))]
        if draw is draw_tree
        else []
    )
    return [
        *brackets,
        ResultTab(
            WHY,
            WHY_TITLE,
            lambda trace, focus: draw_weight_explanation(page, trace, focus),
            has_terms,
        ),
        ResultTab(VIEW, views, draw_views),
        ResultTab(TABLE, "As a table", lambda trace, focus: _draw_tables(seen)),
    ]


def _draw_brackets(page: AnyPage, trace: Trace, focus: Focus) -> None:
    """Draw the tree as brackets above its sentence. A click selects a step of the tree."""
    after = apply_click(draw_ribbon(trace, focus, key="brackets"), focus)
    if after != focus:
        page.set_state(page.state.with_locked(after))
        st.rerun(scope="fragment")


def list_card_parts(seen: Sequence[SeenTrace]) -> dict[str, ShownView]:
    """Return the parts of the card, by unique titles."""
    titles = make_names_unique([one.title for one in seen])
    return dict(zip(titles, [one.shown for one in seen], strict=True))


def _draw_views(page: AnyPage, seen: Sequence[SeenTrace]) -> None:
    """Draw one view of every trace with its files."""
    first = seen[0].shown
    view = choose_view(page, first.trace, first.focus, first.view)
    if view is None:
        st.caption("No view is available for this selection.")
        return
    draw_question(view)
    traces = [one.trace for one in seen]
    if not has_equal_selections(traces, [one.focus for one in seen]):
        st.caption(
            "The words you selected do not occur in every output, so the maps show attention for"
            " the whole output."
        )
        seen = [replace(one, focus=replace(one.focus, side="query", items=())) for one in seen]
    fitting = [view.fits(one.trace, one.focus) for one in seen]
    top = _find_common_limit(view, seen) if all(fitting) else None
    for index, (one, place) in enumerate(zip(seen, make_columns(traces, "views"), strict=True)):
        with place:
            if len(seen) > 1:
                st.caption(escape_markdown(one.title))
            if fitting[index]:
                draw_view_chart(
                    view, one.trace, one.focus, str(index), get_chart_width(traces), top
                )
                if view.name == OVERVIEW:
                    _draw_head_statistics(one.trace, one.focus, index)
            else:
                st.caption("This view has no data for this model.")


def _draw_head_statistics(trace: Trace, focus: Focus, index: int) -> None:
    """Draw the statistics of the site's heads over a dataset, if the model's card has them."""
    card = get_backend().models().get(trace.request.model)
    if card is not None and focus.site in card.heads:
        with st.expander("Head statistics over many examples", key=f"heads_over_{index}"):
            draw_heads(card, focus.site, f"overview_{index}")
            st.caption(WHAT_NAMES_MEAN)


def _find_common_limit(view: View, seen: Sequence[SeenTrace]) -> float | None:
    """Return the upper end of the traces' common colour scale, None if they have their own."""
    if len(seen) == 1 or view.played:
        return None
    return find_common_top([view.figure(one.trace, one.focus) for one in seen])


def _draw_difference(page: AnyPage, one: SeenTrace, other: SeenTrace) -> None:
    """Draw the difference between two maps if the user has asked for it."""
    pair = one.trace, other.trace, one.focus, other.focus
    if not fits_difference(*pair):
        return
    if page.draw_widget(st.toggle, "Show the difference between the two maps", "differs"):
        found = compute_difference(*pair)
        figure = relabel_for_width(difference_figure(found, (one.title, other.title)), WIDE)
        draw_titled_figure(figure, "apart_map", figure.layout.meta["title"])
        with st.expander("Data of the difference", type="compact", key="apart_numbers"):
            draw_data_table(difference_table(found))


def _draw_tables(seen: Sequence[SeenTrace]) -> None:
    """Draw the numbers of the card, and a description of their run."""
    for one in seen:
        st.caption(escape_markdown(figure_caption(one.trace, one.focus)))
        draw_data_table(one.shown.view.table(one.trace, one.focus))
