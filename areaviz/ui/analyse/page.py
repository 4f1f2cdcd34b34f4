"""The page Analyse: a set of examples through one or two models, with progress, and what came of
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from areaviz.analysis.jobs import Job
from areaviz.analysis.rows import Header, RowFile, rows_path
from areaviz.analysis.run import analyse, header
from areaviz.analysis.turns import Turns
from areaviz.backend.base import Backend
from areaviz.cards.card import Card
from areaviz.data.examples import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.analyse.dataset_form import dataset_form
from areaviz.ui.analyse.found import found_in
from areaviz.ui.analyse.kept import kept
from areaviz.ui.analyse.notes import remove_old_work
from areaviz.ui.analyse.result import result
from areaviz.ui.analyse.running import others_running, running
from areaviz.ui.forms.options import ModelPage, pickers, with_options
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import defer_errors, problem, show_deferred, show_errors
from areaviz.ui.shell.jobs import jobs
from areaviz.ui.shell.reader import reader_id, reader_mark

NOT_BEGUN = "analyse_not_begun"
"""In the session: why the analysis that was asked for was not begun."""
TASK_OF = {
    (True, False): "translation",
    (False, True): "caption",
    (True, True): "picture translation",
}
"""What a set asks for, by whether it has texts and pictures."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """One model and its options on a set: where its rows lie, and what they are headed by."""

    request: Request
    title: str
    path: Path
    header: Header


def analyse_page(page: ModelPage) -> None:
    """Draw the page."""
    with show_errors("opening the models"):
        backend = engine()
        with show_errors("removing what is old"):
            remove_old_work()
        with show_errors("reading the examples"):
            with st.container(border=True):
                dataset = dataset_form()
                analyses = _asked(page, backend, dataset) if dataset else ()
            if dataset and analyses:
                with show_errors("running the examples"):
                    _progress(backend, dataset, analyses)
                with show_errors("showing the result"):
                    runs = tuple(found_in(analysis.path, dataset) for analysis in analyses)
                    kept(dataset, [analysis.header for analysis in analyses], runs)
                    if all(run.rows for run in runs):
                        requests = [analysis.request for analysis in analyses]
                        result(backend, requests, runs, [analysis.title for analysis in analyses])


def _asked(page: ModelPage, backend: Backend, dataset: Dataset) -> tuple[Analysis, ...]:
    """The models that are chosen, of those that take such examples; InputError where
    there is none.
    """
    st.caption(_about(dataset))
    kind = (
        any(one.text.strip() for one in dataset.examples),
        any(one.picture for one in dataset.examples),
    )
    cards = {name: card for name, card in backend.models().items() if card.task == TASK_OF[kind]}
    if not cards:
        raise InputError("No model here takes such examples; choose another set.")
    card, other = pickers(page, cards)
    requests = with_options(page, Request(card.name, ""), other)
    return tuple(_analysis(dataset, request, cards[request.model]) for request in requests)


def _about(dataset: Dataset) -> str:
    known = sum(bool(one.references) for one in dataset.examples)
    linked = sum(bool(one.sure or one.possible) for one in dataset.examples)
    parts = [
        f"{len(dataset.examples):,} examples",
        f"{known:,} with references" if known else "no references",
    ]
    parts += [f"{len(dataset.pictures):,} pictures"] if dataset.pictures else []
    return ", ".join([*parts, *([f"{linked:,} with gold links"] if linked else [])])


def _analysis(dataset: Dataset, request: Request, card: Card) -> Analysis:
    about = header(dataset, request, card, reader_mark())
    return Analysis(request, card.title, rows_path(about), about)


def _progress(backend: Backend, dataset: Dataset, analyses: Sequence[Analysis]) -> None:
    """How far it is, and buttons to start, stop and go on."""
    show_deferred(NOT_BEGUN)
    key = " ".join(str(analysis.path) for analysis in analyses)
    others_running(key)
    job = jobs().get(key)
    if job and job.running:
        running(job)
        return
    if job and job.problem:
        problem(job.problem)
    done = sum(len(found_in(analysis.path, dataset).rows) for analysis in analyses)
    most = len(analyses) * len(dataset.examples)
    if done == most:
        return
    label = f"Go on with the other {most - done:,}" if done else f"Run {most:,} examples"
    st.button(label, type="primary", on_click=_start, args=(key, backend, dataset, analyses))


def _start(key: str, backend: Backend, dataset: Dataset, analyses: Sequence[Analysis]) -> None:
    title = f"{dataset.name}, {' and '.join(analysis.title for analysis in analyses)}"
    turns = jobs().turns
    with defer_errors("starting the analysis", NOT_BEGUN):
        jobs().start(
            key, lambda job: _work(job, turns, backend, dataset, analyses), reader_id(), title
        )


def _work(
    job: Job, turns: Turns, backend: Backend, dataset: Dataset, analyses: Sequence[Analysis]
) -> None:
    """All analyses, one after the other; the page is told of them together. Each is held by one job
    from the start.
    """
    most = len(dataset.examples)

    def run(request: Request) -> Trace:
        with turns.turn(lambda: job.watched, job.stopping):
            return backend.trace(request, background=True)

    with ExitStack() as held:
        files = [
            held.enter_context(RowFile.open(analysis.path, analysis.header))
            for analysis in analyses
        ]
        for turn, (analysis, file) in enumerate(zip(analyses, files, strict=True)):

            def told(done: int, _: int, turn: int = turn) -> None:
                job.tell(turn * most + done, len(analyses) * most)

            if not analyse(dataset, analysis.request, run, file, told, job.stopping):
                return
