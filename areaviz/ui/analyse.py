"""The page Analyse: a set of examples through one or two models, with progress, and what came of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from areaviz.analysis.rows import Header, RowFile, rows_path
from areaviz.analysis.run import analyse, header
from areaviz.backend.base import Backend
from areaviz.data.examples import Dataset
from areaviz.trace.card import Card
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from areaviz.ui.analysis_found import found_in
from areaviz.ui.analysis_kept import kept
from areaviz.ui.analysis_result import result
from areaviz.ui.asking import Asking
from areaviz.ui.dataset_form import dataset_form
from areaviz.ui.engine import engine
from areaviz.ui.errors import calm, problem
from areaviz.ui.jobs import Job, Progress, jobs
from areaviz.ui.notebook import remove_old_work
from areaviz.ui.reader import reader_mark

ASKING = Asking("analyse")
TASK_OF = {(True, False): "translation", (False, True): "caption", (True, True): "picture translation"}
"""What a set asks for, by whether it has texts and pictures."""
LOOK_AGAIN, STOPPING = 1.0, 5.0  # seconds


@dataclass(frozen=True, slots=True)
class Analysis:
    """One model and its options on a set: where its rows lie, and what they are headed by."""

    request: Request
    title: str
    path: Path
    header: Header


def analyse_page() -> None:
    """Draw the page."""
    with calm("opening the models"):
        backend = engine()
        with calm("removing what is old"):
            remove_old_work()
        with calm("reading the examples"):
            with st.container(border=True):
                dataset = dataset_form()
                analyses = _asked(backend, dataset) if dataset else ()
            if dataset and analyses:
                with calm("running the examples"):
                    _progress(backend, dataset, analyses)
                with calm("showing the result"):
                    runs = tuple(found_in(analysis.path, dataset) for analysis in analyses)
                    kept(dataset, [analysis.header for analysis in analyses], runs)
                    if all(run.rows for run in runs):
                        requests = [analysis.request for analysis in analyses]
                        result(backend, requests, runs, [analysis.title for analysis in analyses])


def _asked(backend: Backend, dataset: Dataset) -> tuple[Analysis, ...]:
    """The models that are chosen, of those that take such examples; InputError where there is none."""
    st.caption(_about(dataset))
    kind = any(one.text.strip() for one in dataset.examples), any(one.picture for one in dataset.examples)
    cards = {name: card for name, card in backend.models().items() if card.task == TASK_OF[kind]}
    if not cards:
        raise InputError("No model here takes such examples; choose another set.")
    card, other = ASKING.pickers(cards)
    requests = ASKING.requests(Request(card.name, ""), other)
    return tuple(_analysis(dataset, request, cards[request.model]) for request in requests)


def _about(dataset: Dataset) -> str:
    known = sum(bool(one.references) for one in dataset.examples)
    linked = sum(bool(one.sure or one.possible) for one in dataset.examples)
    parts = [f"{len(dataset.examples):,} examples", f"{known:,} with references" if known else "no references"]
    parts += [f"{len(dataset.pictures):,} pictures"] if dataset.pictures else []
    return ", ".join([*parts, *([f"{linked:,} with gold links"] if linked else [])])


def _analysis(dataset: Dataset, request: Request, card: Card) -> Analysis:
    about = header(dataset, request, card, reader_mark())
    return Analysis(request, card.title, rows_path(about), about)


def _progress(backend: Backend, dataset: Dataset, analyses: Sequence[Analysis]) -> None:
    """How far it is, and buttons to start, stop and go on."""
    key = " ".join(str(analysis.path) for analysis in analyses)
    job = jobs().get(key)
    if job and job.running:
        st.fragment(_running, run_every=LOOK_AGAIN)(job)
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
    with calm("starting the analysis"):
        jobs().start(key, lambda progress, stop: _work(backend, dataset, analyses, progress, stop))


def _running(job: Job) -> None:
    """The bar and the button that stops; the whole page is drawn anew at the end."""
    if not job.running:
        st.rerun()
    words = f"{job.done:,} of {job.most:,} examples" if job.most else "Loading the model"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.done / job.most if job.most else 0.0, text=words)
        st.button("Stop", on_click=_stop, args=(job,))


def _stop(job: Job) -> None:
    """What is on its way is still finished."""
    job.stop()
    job.wait(STOPPING)


def _work(
    backend: Backend, dataset: Dataset, analyses: Sequence[Analysis], progress: Progress, stop: threading.Event
) -> None:
    """All analyses, one after the other; the page is told of them together. Each is held by one job from the start."""
    most = len(dataset.examples)
    with ExitStack() as held:
        files = [held.enter_context(RowFile.open(analysis.path, analysis.header)) for analysis in analyses]
        for turn, (analysis, file) in enumerate(zip(analyses, files, strict=True)):

            def told(done: int, _: int, turn: int = turn) -> None:
                progress(turn * most + done, len(analyses) * most)

            if not analyse(dataset, analysis.request, backend.trace, file, told, stop):
                return
