"""Exploring traces: the card with the picture, the tabs below it, the files and the link.

All of it is one Streamlit fragment, so a click reruns only this part and not the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.draw.select import get_layer_noun, list_sites, match_characters
from areaviz.show.views import VIEWS
from areaviz.trace.arrays import NO_OUTPUT
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.page import AnyPage
from areaviz.ui.app.state import COMPARE, NO_PARAMS, VIEW
from areaviz.ui.results.chart import draw_output, draw_view_chart, draw_warnings
from areaviz.ui.results.common_tabs import SeenTrace, build_common_tabs, list_card_parts
from areaviz.ui.results.display import (
    draw_chart,
    find_display,
    get_chart_width,
    has_all_layers,
    has_legend,
    is_self_explaining,
    make_columns,
)
from areaviz.ui.results.downloads import draw_downloads
from areaviz.ui.results.focus import draw_focus_picker, get_current_focus
from areaviz.ui.results.shared_focus import apply_click, fit_to_other_trace, follow_click
from areaviz.ui.results.tabs import ResultTab, draw_tab_row, draw_tabs
from areaviz.ui.results.uploaded_traces import wait_for_turn

COMBINED_KEY = "together"
"""The name by which several ribbons on a page are linked."""
PROBABILITIES_VIEW, NO_FOCUS = VIEWS["probabilities"], Focus("")
"""The view and selection for a trace without attention: the probabilities of its output."""
Traces = Sequence[Trace]
Titles = Sequence[str]
DescribeFunction = Callable[[Trace], str]
"""Returns the sentence above the picture of a trace, as Markdown; "" if the picture has its own."""


@st.fragment
def draw_results(
    page: AnyPage,
    traces: Traces,
    titles: Titles,
    request: Request | None = None,
    further: Mapping[str, str] = NO_PARAMS,
    tabs: Sequence[ResultTab] = (),
    say: DescribeFunction | None = None,
    check: Callable[[], object] | None = None,
    before: Callable[[], None] | None = None,
) -> None:
    """Show traces side by side with one shared selection, and the tabs below them.

    Args:
        page: its state has the selection.
        traces: the traces. The selection refers to the first.
        titles: one for each trace.
        request: the request that a link restores; None if there is no link.
        further: URL parameters that are not in the page's state.
        tabs: tabs of the page, besides the views, the numbers and the terms of a weight.
        say: the sentence above a picture; None draws the output where the picture lacks it.
        before: draws the part to the left of the card of a single trace, or above the card of
            several traces.
        check: called first, even if only this part of the page reruns. Its errors replace the
            traces.
    """
    with show_errors("drawing the attention"), wait_for_turn(traces):
        if check is not None:
            check()
        further = {**_get_compared_param(traces), **further}
        first, focus, parts = traces[0], NO_FOCUS, {}
        traces, titles = _keep_attending(traces, titles, say)
        if traces:
            with _draw_card_place(before, len(traces)), st.container(border=True, key="card"):
                seen = _draw_card(page, traces, titles, request, say)
            first, focus = traces[0], seen[0].focus
            tabs = [*tabs, *build_common_tabs(page, seen)]
            parts = list_card_parts(seen)
        tabs = [tab for tab in tabs if tab.fits(first, focus)]
        end = draw_tab_row(page, tabs)
        draw_tabs(page, tabs, first, focus)
        with end:
            if parts:
                draw_downloads("Download", parts, "card")
            if request:
                view = page.state.view if VIEW in page.state.tabs else ""
                link = page.state.to_link(request, focus if traces else None, view)
                page.offer_link(link | further, request)


def _draw_card_place(before: Callable[[], None] | None, count: int) -> DeltaGenerator:
    """Draw the part before the card, and return the place of the card."""
    if before is None:
        return st.container()
    if count > 1:
        before()
        return st.container()
    with st.container(key="pair_before"):
        left, right = st.columns([4, 9], gap="medium")
    with left:
        before()
    return right


def _get_compared_param(traces: Traces) -> dict[str, str]:
    """Return the URL parameter of the model that the first is compared with, if there is one."""
    first = traces[0].request.model
    for trace in traces:
        if trace.request.model != first:
            return {COMPARE: trace.request.model}
    return {}


def _keep_attending(
    traces: Traces, titles: Titles, say: DescribeFunction | None
) -> tuple[Traces, Titles]:
    """Return the traces with attention; for the rest, draw only the output and its confidence."""
    attending, names = [], []
    for index, (trace, title) in enumerate(zip(traces, titles, strict=True)):
        if list_sites(trace):
            attending.append(trace)
            names.append(title)
            continue
        with st.container(border=True):
            _draw_heading(trace, title, f"blind_{index}", NO_FOCUS, say)
            noun = next((name for name in ("picture", "clip") if name in trace.fields), "sentence")
            st.caption(
                f"This model has no attention to show. It encodes the whole {noun} once, before it"
                " generates text."
            )
            if PROBABILITIES_VIEW.fits(trace, NO_FOCUS):
                draw_view_chart(PROBABILITIES_VIEW, trace, NO_FOCUS, f"blind_{index}")
    return attending, names


def _draw_card(
    page: AnyPage,
    traces: Traces,
    titles: Titles,
    request: Request | None,
    say: DescribeFunction | None,
) -> list[SeenTrace]:
    """Draw the pictures and the choice of site and layer. Return the seen part of each trace."""
    focus = get_current_focus(page, traces[0])
    # The form above already names a single model.
    headings = titles if len(traces) > 1 or request is None else [""]
    chosen = _draw_ribbons(page, traces, headings, focus, say)
    draw, _ = find_display(traces[0], focus)
    is_whole = has_all_layers(draw)
    with st.popover("More", key=page.key("more")) if is_whole else st.container():
        if is_whole:
            noun = get_layer_noun(focus.site)
            st.caption(f"The picture shows every {noun}. What if and More views use this one:")
        draw_focus_picker(page, traces[0], focus.site, has_heads=not has_legend(draw))
    return [SeenTrace(*one) for one in zip(titles, traces, chosen, strict=True)]


def _draw_ribbons(
    page: AnyPage, traces: Traces, titles: Titles, focus: Focus, say: DescribeFunction | None
) -> list[Focus]:
    """Draw a ribbon per trace. Return the selection in each, first the page's selection."""
    link = COMBINED_KEY if len(traces) > 1 else None
    seen = []
    for index, (trace, place) in enumerate(
        zip(traces, make_columns(traces, "ribbons"), strict=True)
    ):
        asked = chosen = fit_to_other_trace(traces[0], trace, focus)
        draw, _ = find_display(trace, asked)
        with place:
            # A picture with its own sentence comes before the sentence about the whole output.
            is_below = say is not None and is_self_explaining(draw)
            above = _describe_nothing if is_below else say
            _draw_heading(trace, titles[index], f"{index}", asked, above)
            if asked.site in trace.maps:
                more: dict[str, Any] = {}
                if has_legend(draw):
                    more = {"link": link, "matches": _find_matching_words(traces, trace, asked)}
                selection = draw(trace, asked, key=f"{draw.__name__}_{index}", **more)
                chosen = apply_click(selection, asked)
            draw_chart(trace, chosen, f"card_{index}", get_chart_width(traces))
            if say and is_below and (sentence := say(trace)):
                st.markdown(sentence)
        after = focus if chosen == asked else follow_click(traces[0], trace, focus, asked, chosen)
        if after != focus:
            focus = after
            page.set_state(page.state.with_locked(focus))
            # The ribbons drawn so far do not show the new selection yet.
            if index:
                st.rerun()
        seen.append(chosen)
    return seen


def _describe_nothing(_: Trace) -> str:
    return ""


def _draw_heading(
    trace: Trace, title: str, key: str, focus: Focus, say: DescribeFunction | None = None
) -> None:
    """Draw the title of a trace, the sentence about it, and reasons to doubt it.

    Without a sentence, draw the output, unless it is a text of the picture below.
    """
    attention = trace.maps.get(focus.site)
    is_drawn = attention and trace.output.field in (attention.query, attention.memory)
    with st.container(key=f"translation_{key}", gap="small"):
        if title:
            st.caption(escape_markdown(title))
        if say:
            if sentence := say(trace):
                st.markdown(sentence)
        elif trace.output.field != NO_OUTPUT.field and not is_drawn:
            draw_output(trace)
        draw_warnings(trace)


def _find_matching_words(
    traces: Traces, trace: Trace, focus: Focus
) -> dict[str, list[tuple[int, int, int]]]:
    """Return where this output's words occur in the other traces' outputs, by their texts."""
    found = {}
    own = trace.fields[trace.maps[focus.site].query]
    for other in traces:
        if other is trace or focus.site not in other.maps:
            continue
        field = other.fields[other.maps[focus.site].query]
        if field.is_text and own.is_text and field.raw != own.raw:
            found[field.raw] = match_characters(field, own)
    return found
