"""A page that runs models, and the card on which users explore the resulting traces.

The card comes first. `draw_result_page` in the second section draws the whole page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.app.changes import WhatIfPage, apply_link, run_experiment
from areaviz.app.chart import (
    draw_chart,
    draw_output,
    draw_view_chart,
    draw_warnings,
    find_display,
    get_chart_width,
    has_all_layers,
    has_legend,
    is_self_explaining,
    make_columns,
)
from areaviz.app.examples import draw_examples_menu
from areaviz.app.files import draw_downloads, open_stored_trace, wait_for_turn
from areaviz.app.focus import (
    apply_click,
    draw_focus_picker,
    fit_to_other_trace,
    follow_click,
    get_current_focus,
)
from areaviz.app.frame import draw_page_frame
from areaviz.app.options import ModelState, choose_other_model, draw_options_popover
from areaviz.app.page import COMPARE, NO_PARAMS, VIEW, WHAT_IF, AnyPage, Cards, Page, S_co
from areaviz.app.run import get_backend, run_requests
from areaviz.app.tabs import (
    ResultTab,
    SeenTrace,
    add_attribution,
    build_attribution_tab,
    build_common_tabs,
    build_without_tab,
    draw_tab_row,
    draw_tabs,
    list_card_parts,
)
from areaviz.app.texts import escape_markdown, show_error, show_errors
from areaviz.app.what_if import PANEL_TITLE, draw_panel, is_offered
from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.draw.select import get_layer_noun, list_sites, match_characters
from areaviz.samples.paths import to_get_models
from areaviz.trace.arrays import NO_OUTPUT
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.views import VIEWS

# Exploring traces: the card with the picture, the tabs below it, the files and the link.
#
# All of it is one Streamlit fragment, so a click reruns only this part and not the page.


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


# A page that runs models and shows the result: link, input, result.
#
# The result always belongs to the present request. A session keeps the result of one page at a
# time.


A = TypeVar("A")
_RESULT_KEY = "result"


@dataclass(frozen=True, kw_only=True)
class ResultPage(Page[S_co], Generic[S_co, A]):
    """A page that runs models.

    Args:
        task: the task of the offered models, as in `Card.task`.
        also: further tasks whose models are offered.
        form: draws the form. Returns the requests, or nothing while something is missing.
        show: runs the requests and shows the result.
    """

    task: str
    also: tuple[str, ...] = ()
    form: Callable[[Page[S_co], Cards], A | None]
    show: Callable[[Page[S_co], Backend, Cards, A], None]


def _return_unchanged(trace: Trace) -> Trace:
    """Return the trace as it is."""
    return trace


def _get_model_title(request: Request, _: Sequence[Request], cards: Cards) -> str:
    """Return the title of the request's model."""
    return cards[request.model].title


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The last result of a page. `is_current` says whether its requests are the present ones."""

    page: str
    titles: tuple[str, ...]
    requests: tuple[Request, ...]
    traces: tuple[Trace, ...]
    is_current: bool = True


def draw_result_page(page: ResultPage[S_co, A]) -> None:
    """Draw the page. A problem does not remove the parts drawn above it."""
    draw_page_frame(page, is_brief=True, draw_right=lambda: draw_examples_menu(page.name))
    with show_errors("opening the models"):
        backend = get_backend()
        models, cards = backend.models(), dict[str, Card]()
        # The page's own task comes first. The page opens with its model.
        for task in (page.task, *page.also):
            cards |= {name: card for name, card in models.items() if card.task == task}
        for sentence in backend.problems():
            show_error(sentence)
        if not cards and models:
            # A wheel, or a custom folder of models, may lack all models for this page.
            show_error(f"No installed model supports this page. To get one, {to_get_models()}.")
        with show_errors("reading the link"):
            page.follow_url(cards)
        asked, stored = None, None
        if cards:
            asked = page.form(page, cards)
        else:
            with draw_options_popover(page):
                pass
        with show_errors("reading the stored trace"):
            stored = open_stored_trace()
        if stored:
            with show_errors("reading the stored trace"):
                draw_results(page, (stored,), (f"Stored trace of {stored.request.model}",))
        elif asked:
            with show_errors("running the model"):
                page.show(page, backend, cards, asked)


def draw_traces(
    page: WhatIfPage,
    backend: Backend,
    cards: Cards,
    requests: Sequence[Request],
    say: DescribeFunction | None = None,
    complete: Callable[[Trace], Trace] = _return_unchanged,
    name: Callable[[Request, Sequence[Request], Cards], str] = _get_model_title,
) -> None:
    """Show the traces of requests side by side, the first also with the user's changes.

    Args:
        page: its state has the selection and the changes.
        backend: runs the requests.
        cards: the cards of the models.
        requests: the requests.
        say: the sentence about a trace, see `draw_results`.
        complete: adds known facts about its input to a trace.
        name: returns the title of a request.
    """
    apply_link(page, requests[0], requests[0])
    titles = [name(request, requests, cards) for request in requests]
    requests = add_attribution(page, cards, requests)
    result = get_current_result(page, backend, requests, titles)
    traces = [complete(trace) for trace in result.traces]
    if not result.is_current:
        draw_results(page, traces, result.titles, result.requests[0], say=say)
        return
    tabs = [
        *build_without_tab(page, backend, cards, requests[0]),
        *build_attribution_tab(page, cards, requests[0]),
        *build_compare_tab(page, cards, requests[0]),
    ]
    draw_explored(page, backend, traces, result.titles, requests[0], result.requests[0], tabs, say)


def draw_explored(
    page: WhatIfPage,
    backend: Backend,
    traces: Sequence[Trace],
    titles: Sequence[str],
    request: Request,
    link: Request,
    tabs: Sequence[ResultTab] = (),
    say: DescribeFunction | None = None,
    before: Callable[[], None] | None = None,
) -> None:
    """Explore traces. The first one, that of `request`, is also shown with the user's changes.

    A link restores the request `link`. The other arguments are those of `draw_results`.
    """
    run = run_experiment(page, backend, request, traces[0])
    if run.runs:
        traces, titles = [*traces, run.runs[0]], [*titles, PANEL_TITLE]
    link = replace(link, changes=(*link.changes, *run.decoded.changes))

    def draw(trace: Trace, focus: Focus) -> None:
        draw_panel(page, backend, run, trace, focus)

    def can_draw(trace: Trace, focus: Focus) -> bool:
        return is_offered(run, trace, focus)

    tabs = [*tabs, ResultTab(WHAT_IF, PANEL_TITLE, draw, can_draw)]
    draw_results(page, traces, titles, link, run.decoded.params, tabs, say, before=before)


def build_compare_tab(page: WhatIfPage, cards: Cards, request: Request) -> list[ResultTab]:
    """Return the tab for a second model, if the page can compare models and a second one exists."""
    state = page.state
    if not isinstance(state, ModelState) or len(cards) < 2:
        return []
    compared = state.compare

    def draw(trace: Trace, focus: Focus) -> None:
        models: Any = page
        choose_other_model(models, cards[request.model], cards)
        # The tab is part of a fragment, but running a model requires the whole page.
        if models.state.compare != compared:
            st.rerun()

    return [ResultTab(COMPARE, "Another model", draw, lambda trace, focus: True)]


def get_current_result(
    page: AnyPage, backend: Backend, requests: Sequence[Request], titles: Sequence[str]
) -> Result:
    """Return the result of exactly these requests. Run them if there is none yet.

    During the run, a progress bar replaces the older result, so that nobody takes it for the new
    one. If the input cannot be used, a sentence says so, and the older result stays with a label.

    Raises:
        InputError: the input cannot be used, and there is no older result.
        BackendError: as the backend.
    """
    older = get_last_result(page.name)
    try:
        asked = tuple(request.checked() for request in requests)
        if older and older.requests == asked:
            return replace(older, titles=tuple(titles))
        # Only some of the requests may be new, such as those of the models that choose at random.
        known = dict(zip(older.requests, older.traces, strict=True)) if older else {}
        missing = [request for request in dict.fromkeys(asked) if request not in known]
        found = run_requests(backend, missing, "Running the model…")
        known.update(zip(missing, found, strict=True))
        traces = tuple(known[request] for request in asked)
    except InputError as error:
        if older is None:
            raise
        show_error(str(error))
        st.caption("The result below is from your previous input.")
        return replace(older, is_current=False)
    st.session_state[_RESULT_KEY] = Result(page.name, tuple(titles), asked, traces)
    page.set(has_just_run=True)
    # Rerun, so that the result is in its final place on the page.
    st.rerun()


def get_last_result(page: str) -> Result | None:
    """Return the last result of a page, given by its name."""
    older: Result | None = st.session_state.get(_RESULT_KEY)
    return older if older and older.page == page else None
