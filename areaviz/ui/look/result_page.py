"""A page that runs models and shows the result: link, form, result.

The result always belongs to the present request. A session keeps the result of one page at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.backend.base import Backend
from areaviz.cards.card import Card
from areaviz.data.clip_samples import SAMPLES as CLIPS
from areaviz.data.picture_samples import SAMPLES
from areaviz.data.release_models import to_get_models
from areaviz.data.sound_samples import SAMPLES as RECORDINGS
from areaviz.drawing.labels import counted
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.forms.example_links import examples_menu
from areaviz.ui.look.attribution import attribution, with_attribution
from areaviz.ui.look.explore import Panel, explore
from areaviz.ui.look.opened import stored_trace
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import problem, show_errors
from areaviz.ui.shell.frame import page_frame
from areaviz.ui.shell.markdown import escaped, shortened
from areaviz.ui.shell.page import AnyPage, Page, S_co
from areaviz.ui.shell.state import Cards
from areaviz.ui.shell.waiting import traced
from areaviz.ui.what_if.experiment import experiment
from areaviz.ui.what_if.panel import TITLE, panel
from areaviz.ui.what_if.state import WhatIfPage, apply_link

A = TypeVar("A")
_RESULT = "result"
CHANGE = "**Change what is asked**"
LONGEST, COMPARED = 70, 2
"""Limits for the summary of the collapsed form: characters of text, and number of models."""


@dataclass(frozen=True, kw_only=True)
class ResultPage(Page[S_co], Generic[S_co, A]):
    """A page that runs models.

    Args:
        task: the task of the offered models, as in `Card.task`.
        also: further tasks whose models are offered.
        form: draws the form; returns the requests, or nothing while something is missing.
        show: runs the requests and shows the result.
    """

    task: str
    also: tuple[str, ...] = ()
    form: Callable[[Page[S_co], Cards], A | None]
    show: Callable[[Page[S_co], Backend, Cards, A], None]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The last result of a page.

    Args:
        page: the name of the page.
        titles: the titles of the requests.
        requests: the requests.
        traces: the traces of the requests.
        is_current: whether these are the present requests, not earlier ones.
    """

    page: str
    titles: tuple[str, ...]
    requests: tuple[Request, ...]
    traces: tuple[Trace, ...]
    is_current: bool = True


def result_page(page: ResultPage[S_co, A]) -> None:
    """Draw the page; a problem does not remove what is drawn above it."""
    page_frame(page)
    examples_menu(page.name)
    with show_errors("opening the models"):
        backend = engine()
        models, cards = backend.models(), dict[str, Card]()
        # The page's own task comes first; the page opens with its model.
        for task in (page.task, *page.also):
            cards |= {name: card for name, card in models.items() if card.task == task}
        for sentence in backend.problems():
            problem(sentence)
        if not cards and models:
            # A wheel, or a custom folder of models, may lack all models for this page.
            problem(f"No model here does what this page is for; {to_get_models()}.")
        with show_errors("reading the link"):
            page.follow(cards)
        asked, stored = None, None
        with _form_line(page, cards):
            if cards:
                asked = page.form(page, cards)
            with show_errors("reading the stored trace"):
                stored = stored_trace()
        if stored:
            with show_errors("reading the stored trace"):
                explore(page, (stored,), (f"Stored trace of {stored.request.model}",))
        elif asked:
            with show_errors("running the model"):
                page.show(page, backend, cards, asked)


def _form_line(page: AnyPage, cards: Cards) -> DeltaGenerator:
    """Draw the collapsed form under a one-line summary of the request, and return its place.

    The expander has a constant label. Streamlit treats an expander with another label as a new one
    and redraws its content, which would delete text that is being typed.
    """
    key, older = page.key("form"), _older(page)
    if st.session_state.get(key) != page.state.is_form_open:
        st.session_state[key] = page.state.is_form_open

    def take() -> None:
        page.set(is_form_open=st.session_state[key])

    with st.container(key=page.key("asked"), gap="xxsmall"):
        line = st.empty()
        if older:
            line.markdown(asked_words(older.requests, cards))
        return st.expander(CHANGE, key=key, on_change=take, type="compact")


def asked_words(requests: Sequence[Request], cards: Cards) -> str:
    """Return a one-line Markdown summary of the request: text, picture, models and options."""
    first = requests[0]
    parts = []
    card = cards.get(first.model)
    if card is not None and card.level == "point":
        parts.append(counted(len(first.text.split()), "point"))
    elif first.text:
        parts.append(f"“{escaped(shortened(first.text, LONGEST))}”")
    if first.picture is not None:
        known = SAMPLES.get(first.picture.name)
        title = known.title if known else "your picture"
        # The title of a scene may be the sentence itself.
        if title.lower() != first.text.lower():
            parts.append(escaped(shortened(title, LONGEST)))
    if first.sound is not None:
        recording = RECORDINGS.get(first.sound.name)
        parts.append(escaped(recording.title if recording else "your sound"))
    if first.clip is not None:
        clip = CLIPS.get(first.clip.name)
        parts.append(escaped(clip.title if clip else "your clip"))
    models = list(dict.fromkeys(request.model for request in requests))
    if len(models) <= COMPARED:
        titles = [cards[name].title if name in cards else name for name in models]
        parts.append(" and ".join(map(escaped, titles)))
    else:
        parts.append(f"{len(models)} models")
    if first.method != "greedy":
        parts.append(f"beam of {first.beam}")
    if first.area_size:
        largest = first.area_size
        parts.append("single items" if largest == 1 else f"areas up to {largest}")
    return " · ".join(parts)


def show_traces(
    page: WhatIfPage, backend: Backend, cards: Cards, requests: Sequence[Request]
) -> None:
    """Show the traces of requests side by side, the first also with the user's changes."""
    apply_link(page, requests[0], requests[0])
    titles = [cards[request.model].title for request in requests]
    requests = with_attribution(page, cards, requests)
    result = up_to_date(page, backend, requests, titles)
    if result.is_current:
        beside = partial(attribution, page, cards, requests[0])
        explore_changed(
            page, backend, result.traces, result.titles, requests[0], result.requests[0], beside
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
    beside: Panel | None = None,
) -> None:
    """Explore traces, and the first of them with the user's changes.

    Args:
        page: its state has the changes.
        backend: runs the changed requests.
        traces: the traces of the requests.
        titles: one for each trace.
        request: the request of the first trace.
        link: the request that the link restores.
        beside: drawn above the panel.
    """
    run = experiment(page, backend, request, traces[0])
    if run.runs:
        traces, titles = [*traces, run.runs[0]], [*titles, TITLE]
    link = replace(link, changes=(*link.changes, *run.decoded.changes))

    def below(trace: Trace, focus: Focus) -> None:
        if beside:
            beside(trace, focus)
        panel(page, backend, run, trace, focus)

    explore(page, traces, titles, link, run.decoded.params, below)


def up_to_date(
    page: AnyPage, backend: Backend, requests: Sequence[Request], titles: Sequence[str]
) -> Result:
    """Return the result of exactly these requests; run them if there is none yet.

    During the run, a progress bar replaces the older result, so that nobody takes it for the new
    one. If the input cannot be used, a sentence says so, and the older result stays with a label.

    Raises:
        InputError: the input cannot be used, and there is no older result.
        BackendError: as the backend.
    """
    older = _older(page)
    try:
        asked = tuple(request.checked() for request in requests)
        if older and older.requests == asked:
            return replace(older, titles=tuple(titles))
        traces = traced(backend, asked, "Waiting for the model")
    except InputError as error:
        if not page.state.is_form_open:
            page.set(is_form_open=True)
            st.rerun()
        if older is None:
            raise
        problem(str(error))
        st.caption("What follows is still the result of what you asked before.")
        return replace(older, is_current=False)
    st.session_state[_RESULT] = Result(page.name, tuple(titles), asked, traces)
    page.set(has_just_run=True, is_form_open=False)
    # Rerun, so that the result is in its final place on the page.
    st.rerun()


def _older(page: AnyPage) -> Result | None:
    """Return the last result of this page."""
    older: Result | None = st.session_state.get(_RESULT)
    return older if older and older.page == page.name else None
