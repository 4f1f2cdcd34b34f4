"""A page that runs models and shows the result: link, input, result.

The result always belongs to the present request. A session keeps the result of one page at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import streamlit as st

from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.samples.paths import to_get_models
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.engine import get_backend
from areaviz.ui.app.errors import show_error, show_errors
from areaviz.ui.app.frame import draw_page_frame
from areaviz.ui.app.page import AnyPage, Page, S_co
from areaviz.ui.app.progress import run_requests
from areaviz.ui.app.state import COMPARE, WHAT_IF, Cards
from areaviz.ui.forms.example_links import draw_examples_menu
from areaviz.ui.forms.options import ModelState, choose_other_model, draw_options_popover
from areaviz.ui.results.attribution import add_attribution, build_attribution_tab
from areaviz.ui.results.explore import DescribeFunction, draw_results
from areaviz.ui.results.tabs import ResultTab
from areaviz.ui.results.uploaded_traces import open_stored_trace
from areaviz.ui.results.without_areas import build_without_tab
from areaviz.ui.what_if.experiment import run_experiment
from areaviz.ui.what_if.panel import PANEL_TITLE, draw_panel, is_offered
from areaviz.ui.what_if.state import WhatIfPage, apply_link

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
        say: the sentence about a trace, see `explore.draw_results`.
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

    A link restores the request `link`. The other arguments are those of `explore.draw_results`.
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
