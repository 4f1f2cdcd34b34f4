"""A page that asks for something and shows what came of it: link, form, result.

What is shown always belongs to what is asked. A session holds the result of one page at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.look.explore import explore
from areaviz.ui.look.opened import stored_trace
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import problem, show_errors
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.page import AnyPage, Page, S_co
from areaviz.ui.shell.state import Cards
from areaviz.ui.shell.waiting import traced
from areaviz.ui.what_if.experiment import experiment
from areaviz.ui.what_if.panel import TITLE, panel
from areaviz.ui.what_if.state import WhatIfPage, apply_link

A = TypeVar("A")
_RESULT = "result"


@dataclass(frozen=True, kw_only=True)
class ResultPage(Page[S_co], Generic[S_co, A]):
    """A page that runs models.

    Args:
        task: of the models that are offered, as in `Card.task`.
        form: draws what is asked; returns it, or nothing while something is missing.
        show: runs what is asked and shows the result.
    """

    task: str
    form: Callable[[Page[S_co], Cards], A | None]
    show: Callable[[Page[S_co], Backend, Cards, A], None]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What one page ran last.

    Args:
        page: its name.
        titles: of the requests.
        requests: what was run.
        traces: of the requests.
        is_current: whether that is what is asked now, and not what was asked before.
    """

    page: str
    titles: tuple[str, ...]
    requests: tuple[Request, ...]
    traces: tuple[Trace, ...]
    is_current: bool = True


def result_page(page: ResultPage[S_co, A]) -> None:
    """Draw the page; only what stands above a problem is not lost by it."""
    page_frame(page)
    with show_errors("opening the models"):
        backend = engine()
        cards = {name: card for name, card in backend.models().items() if card.task == page.task}
        for sentence in backend.problems():
            problem(sentence)
        with show_errors("reading the link"):
            page.follow(cards)
        asked = page.form(page, cards) if cards else None
        with show_errors("reading the stored trace"):
            stored = stored_trace()
            if stored:
                explore(page, (stored,), (f"Stored trace of {stored.request.model}",))
            elif asked:
                with show_errors("running the model"):
                    page.show(page, backend, cards, asked)


def show_traces(
    page: WhatIfPage, backend: Backend, cards: Cards, requests: Sequence[Request]
) -> None:
    """The traces of requests beside one another, the first also changed."""
    apply_link(page, requests[0], requests[0])
    titles = [cards[request.model].title for request in requests]
    result = up_to_date(page, backend, requests, titles)
    if result.is_current:
        explore_changed(
            page, backend, result.traces, result.titles, requests[0], result.requests[0]
        )
    else:
        explore(page, result.traces, result.titles, result.requests[0])


def explore_changed(
    page: WhatIfPage,
    backend: Backend,
    traces: Sequence[Trace],
    titles: Sequence[str],
    request: Request,
    link: Request,
) -> None:
    """Look into traces, and into the first of them under the reader's changes.

    Args:
        page: holds the changes.
        backend: runs what is changed.
        traces: of what was asked.
        titles: one for each of them.
        request: what the first trace is of.
        link: what the link restores.
    """
    run = experiment(page, backend, request, traces[0])
    if run.runs:
        traces, titles = [*traces, run.runs[0]], [*titles, TITLE]
    link = replace(link, changes=run.decoded.changes)
    explore(page, traces, titles, link, run.decoded.params, partial(panel, page, backend, run))


def up_to_date(
    page: AnyPage, backend: Backend, requests: Sequence[Request], titles: Sequence[str]
) -> Result:
    """The result of exactly these requests, run if there is none yet.

    While it runs, progress stands where the older result stood, so an older result is never taken
    for this one. Where the input cannot be used, a sentence says so and the page's older result
    stays, named as what it is.

    Raises:
        InputError: the input cannot be used, and there is no older result.
        BackendError: as the backend.
    """
    older: Result | None = st.session_state.get(_RESULT)
    if older and older.page != page.name:
        older = None
    try:
        asked = tuple(request.checked() for request in requests)
        if older and older.requests == asked:
            return replace(older, titles=tuple(titles))
        traces = traced(backend, asked, "Waiting for the model")
    except InputError as error:
        if older is None:
            raise
        problem(str(error))
        st.caption("What follows is still the result of what you asked before.")
        return replace(older, is_current=False)
    st.session_state[_RESULT] = Result(page.name, tuple(titles), asked, traces)
    page.set(has_just_run=True)
    # Once more, so that the result stands where it stands in every later run.
    st.rerun()
