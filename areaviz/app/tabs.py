"""The tabs below the picture of a result.

The row of tabs comes first. A section for each tab follows, and the last section builds those
of every page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.app.card_tables import WHAT_NAMES_MEAN, draw_heads
from areaviz.app.changes import WhatIfPage
from areaviz.app.chart import (
    choose_view,
    draw_data_table,
    draw_question,
    draw_titled_figure,
    draw_view_chart,
    draw_warnings,
    find_display,
    get_chart_width,
    has_legend,
    make_columns,
)
from areaviz.app.components import draw_ribbon, draw_tree
from areaviz.app.files import ShownView
from areaviz.app.focus import apply_click, fit_to_other_trace, has_equal_selections
from areaviz.app.page import (
    ATTRIBUTION,
    BRACKETS,
    COMPARE,
    COSTS,
    KINDS,
    TABLE,
    VIEW,
    WHAT_IF,
    WHY,
    WITHOUT,
    AnyPage,
    Cards,
    make_names_unique,
)
from areaviz.app.run import draw_progress, find_card, get_backend, get_visitor, run_requests
from areaviz.app.texts import escape_markdown, show_errors
from areaviz.backend.backend import Backend, Caller
from areaviz.cards.card import Card
from areaviz.draw.comparison import (
    compute_difference,
    describe_agreement,
    difference_figure,
    difference_table,
    fits_difference,
)
from areaviz.draw.labels import escape_controls
from areaviz.draw.theme import WIDE, find_common_top, relabel_for_width
from areaviz.draw.view import View, figure_caption
from areaviz.trace.derived import (
    WAYS,
    Logits,
    find_attributions_of_layer,
    find_known_logits,
    has_logits,
    split_attributed_site,
)
from areaviz.trace.query import find_smallest_area_size
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.message import choose_first_item
from areaviz.views.why import Question, find_heaviest_head, list_candidates, make_weight_view

# The sections below the picture of a result: tabs that are drawn when they are opened.


TAB_ORDER = (BRACKETS, WITHOUT, WHAT_IF, WHY, COSTS, VIEW, TABLE, ATTRIBUTION, COMPARE, KINDS)
"""The names of all tabs in the order of the row."""


def has_attention(trace: Trace, focus: Focus) -> bool:
    """Return whether a site of the trace is selected."""
    return bool(focus.site)


@dataclass(frozen=True, slots=True)
class ResultTab:
    """A section below the picture.

    Args:
        name: one of `TAB_ORDER`, as in `State.tabs`.
        title: its title in the row.
        draw: draws its content, from the first trace and its selection.
        fits: whether the tab is offered for them.
    """

    name: str
    title: str
    draw: Callable[[Trace, Focus], None]
    fits: Callable[[Trace, Focus], bool] = has_attention


def draw_tab_row(page: AnyPage, tabs: Sequence[ResultTab]) -> DeltaGenerator:
    """Draw the titles of the tabs, and return the place at the right end of the row.

    A click opens one tab and closes the other ones, or closes the tab again. A link may open
    several tabs, because it may name a view, a comparison and a change.
    """
    titles = {
        tab.name: tab.title for tab in sorted(tabs, key=lambda tab: TAB_ORDER.index(tab.name))
    }
    opened = [name for name in titles if name in page.state.tabs]
    key = page.key("tabs")
    if st.session_state.get(key) != opened:
        st.session_state[key] = opened

    def take() -> None:
        chosen = st.session_state[key]
        page.set(tabs=[name for name in chosen if name not in opened] or chosen)

    with st.container(key="tabs", horizontal=True, vertical_alignment="center", gap="medium"):
        if titles:
            st.segmented_control(
                "Further views of this result",
                list(titles),
                selection_mode="multi",
                # The browser may miss the drawing that sets the value, see `Page.widget`.
                default=opened,
                format_func=titles.__getitem__,
                key=key,
                on_change=take,
                label_visibility="collapsed",
            )
        st.space("stretch")
        return st.container(horizontal=True, width="content", gap="medium")


def draw_tabs(page: AnyPage, tabs: Sequence[ResultTab], trace: Trace, focus: Focus) -> None:
    """Draw the content of the open tabs, with their titles if there are several."""
    opened = [tab for tab in tabs if tab.name in page.state.tabs]
    for tab in sorted(opened, key=lambda tab: TAB_ORDER.index(tab.name)):
        with st.container(key=f"tab_{tab.name}"):
            if len(opened) > 1:
                st.subheader(tab.title, anchor=False)
            tab.draw(trace, focus)


# Why an area has its weight: a tab about the locked selection.


WHY_TITLE = "Why this weight"


def draw_weight_explanation(page: AnyPage, trace: Trace, focus: Focus) -> None:
    """Draw the content of the tab."""
    with show_errors("explaining a weight"):
        st.caption(
            "An area's weight is the softmax of its logit, and the logit is a sum of terms. Compare"
            " two areas to see which term makes one heavier."
        )
        chosen = _choose_question(page, trace, focus)
        if chosen is not None:
            draw_view_chart(
                make_weight_view(_get_logit_terms(trace, focus), chosen), trace, focus, "why"
            )


def has_terms(trace: Trace, focus: Focus) -> bool:
    """Return whether queries and keys were recorded, or an available model can compute them."""
    attention = trace.maps.get(focus.site)
    if attention is None:
        return False
    if has_logits(trace, focus.site):
        return True
    card = find_card(trace.request.model)
    return card is not None and card.has_logits and not attention.derived and get_backend().explains


def _choose_question(page: AnyPage, trace: Trace, focus: Focus) -> Question | None:
    """Return the chosen query, head and areas. Say what is missing."""
    attention = trace.maps[focus.site]
    if focus.side != "query" or not focus.items:
        st.caption("First select the word or cell that attends, in the figure above.")
        return None
    labels = trace.fields[attention.query].labels
    options = {item: f"{escape_controls(labels[item])} (item {item + 1})" for item in focus.items}
    with st.container(horizontal=True, gap="medium"):
        query = focus.items[0]
        if len(options) > 1:
            query = page.choose(st.selectbox, "Of", "why_query", options, width=200)
        head = find_heaviest_head(trace, focus, query)
        least = find_smallest_area_size(attention, focus)
        areas = list_candidates(trace, focus, head, query, least)
        if not areas:
            st.caption("It attends to nothing in this layer.")
            return None
        area = page.choose(st.selectbox, "Area", "why_area", areas, width=300)
        others = list_candidates(trace, focus, head, query)
        others.pop(area, None)
        beside = None
        if others:
            beside = page.choose(st.selectbox, "Compare with", "why_beside", others, width=300)
    if focus.head is None and attention.heads > 1:
        st.caption(
            f"Each head has its own queries and keys. This is head {head + 1}, which puts most"
            " weight on one area here. Choose another head above."
        )
    return Question(head, query, area, beside)


def _get_logit_terms(trace: Trace, focus: Focus) -> Logits:
    """Return the logit terms recorded in the trace, or computed by the model."""
    known = find_known_logits(trace, focus.site, focus.layer)
    if known is not None:
        return known
    with draw_progress("Waiting for the model") as report:
        return get_backend().logits(
            trace.request, focus.site, focus.layer, report, Caller(get_visitor())
        )


# Attribution next to attention: its switch, and its agreement with the attention map.


SWITCH_LABEL = "Compare with attribution"
SWITCH_HELP = (
    "Attention shows what the model read, not what changed its output. Attribution estimates that"
    " in two ways: rollout follows attention through all layers, and gradient × input measures how"
    " the probability of each output changes with each token. Each becomes a map of its own, which"
    " you choose below the picture."
)


def add_attribution(
    page: WhatIfPage, cards: Cards, requests: Sequence[Request]
) -> tuple[Request, ...]:
    """Return the requests, with attribution where the user wants it and the model supports it."""
    wanted = page.state.attribution
    return tuple(
        replace(request, attribution=wanted and "attribution" in cards[request.model].can)
        for request in requests
    )


def build_attribution_tab(page: WhatIfPage, cards: Cards, asked: Request) -> list[ResultTab]:
    """Return the tab with the switch for attribution, if the model supports it."""
    if "attribution" not in cards[asked.model].can:
        return []

    def draw(trace: Trace, focus: Focus) -> None:
        page.draw_widget(st.toggle, SWITCH_LABEL, "attribution")
        st.caption(SWITCH_HELP)
        # The tab is part of a fragment, but running a model requires the whole page.
        if page.state.attribution != asked.attribution:
            st.rerun()
        for sentence in _describe_attribution(trace, focus):
            st.caption(escape_markdown(sentence))

    return [ResultTab(ATTRIBUTION, "Attribution", draw)]


def _describe_attribution(trace: Trace, focus: Focus) -> list[str]:
    """Return notes for the user about the selected map if attribution was requested."""
    if not trace.request.attribution or focus.site not in trace.maps:
        return []
    said = [f"{way}: {trace.details[way]}." for way in WAYS.values() if way in trace.details]
    if split_attributed_site(focus.site)[1]:
        return [*said, "This is an attribution map, not attention: no head has these weights."]
    if find_attributions_of_layer(trace.maps, focus.site, focus.layer):
        said.append(f"Agreement with this map: {describe_agreement(trace, focus)}.")
    return said


# The tab “Without areas”: the same input with the model that differs only in its attention.


WITHOUT_TITLE = "Without areas"
_AREAS, _ITEMS = "area", "regular"


def build_without_tab(
    page: AnyPage, backend: Backend, cards: Cards, request: Request
) -> list[ResultTab]:
    """Return the tab of the model without areas, if the request's model has such a partner."""
    other = find_partner_without_areas(cards[request.model], cards)
    if other is None:
        return []
    asked = replace(request, model=other.name, area_size=None, attribution=False, changes=())

    def draw(trace: Trace, focus: Focus) -> None:
        with show_errors("running the model without areas"):
            (found,) = run_requests(backend, (asked.checked(),), "Running the model without areas…")
            _draw_partner(
                page, other, found, fit_to_other_trace(trace, found, _select_lit_word(trace, focus))
            )

    return [ResultTab(WITHOUT, WITHOUT_TITLE, draw, lambda trace, focus: focus.site in trace.maps)]


def _select_lit_word(trace: Trace, focus: Focus) -> Focus:
    """Return the selection, with the word that is lit while nothing is selected."""
    attention = trace.maps[focus.site]
    first = choose_first_item(attention, focus.layer, trace.fields[attention.query])
    return focus if focus.items else replace(focus, side="query", items=first)


def find_partner_without_areas(card: Card, cards: Cards) -> Card | None:
    """Return the model that differs from a model with areas only in attending to single items."""
    if card.mechanism != _AREAS:
        return None
    same = (one for one in cards.values() if one.pair == card.pair and one.task == card.task)
    return next((one for one in same if one.mechanism == _ITEMS), None)


def _draw_partner(page: AnyPage, card: Card, trace: Trace, focus: Focus) -> None:
    """Draw the partner's picture, and the button that shows both models next to each other."""
    st.markdown(
        f"The same input with **{escape_markdown(card.title)}**. It was trained like the model"
        f" above, but its heads attend to one {card.level or 'cell'} at a time."
    )
    draw_warnings(trace)
    draw, _ = find_display(trace, focus)
    draw(trace, focus, key="without_areas")

    def compare() -> None:
        state: Any = page
        state.set(compare=card.name, tabs=[COMPARE])

    if st.button("Show both side by side", key=page.key("beside"), on_click=compare):
        # The tab is part of a fragment, but two models need the whole page.
        st.rerun()


# The tabs of every page with a trace: the terms of a weight, the views, and the numbers.


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
