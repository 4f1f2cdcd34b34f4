"""The page Analyse: a set of examples through one or two models, with progress, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import streamlit as st

from areaviz.analysis.jobs import Job, Turns
from areaviz.analysis.rows import RowFile, rows_path
from areaviz.analysis.run import analyse, header
from areaviz.backend.base import Backend
from areaviz.cards.tasks import TASKS
from areaviz.data.examples import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.analyse.dataset_form import dataset_form
from areaviz.ui.analyse.result import result
from areaviz.ui.analyse.stored import Analysis, remove_old_work, show_ownership, stored_rows
from areaviz.ui.forms.options import ModelPage, pickers, with_options
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import defer_errors, problem, show_deferred, show_errors
from areaviz.ui.shell.jobs import jobs
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.reader import reader_id, reader_mark

# In the session: why an analysis was not begun.
NOT_BEGUN = "analyse_not_begun"
# Seconds between two looks at a running analysis, and how long Stop waits for its end.
LOOK_AGAIN, STOPPING = 1.0, 5.0


def analyse_page(page: ModelPage) -> None:
    """Draw the page."""
    with show_errors("opening the models"):
        backend = engine()
        with show_errors("removing what is old"):
            remove_old_work()
        with show_errors("reading the examples"):
            with st.container(border=True):
                dataset = dataset_form()
                analyses = _choose(page, backend, dataset) if dataset else ()
            if dataset and analyses:
                with show_errors("running the examples"):
                    _progress(backend, dataset, analyses)
                with show_errors("showing the result"):
                    _show(backend, dataset, analyses)


def _choose(page: ModelPage, backend: Backend, dataset: Dataset) -> tuple[Analysis, ...]:
    """Let models be chosen among those that take such examples; InputError where there is none."""
    st.caption(_about(dataset))
    inputs = set()
    if any(one.text.strip() for one in dataset.examples):
        inputs.add("source")
    if any(one.picture for one in dataset.examples):
        inputs.add("picture")
    fitting = {task.key for task in TASKS.values() if task.samples and task.inputs == inputs}
    cards = {name: card for name, card in backend.models().items() if card.task in fitting}
    if not cards:
        raise InputError("No model here takes such examples; choose another set.")
    card, other = pickers(page, cards)
    analyses = []
    for request in with_options(page, Request(card.name, ""), other):
        chosen = cards[request.model]
        about = header(dataset, request, chosen, reader_mark())
        analyses.append(Analysis(request, chosen.title, rows_path(about), about))
    return tuple(analyses)


def _about(dataset: Dataset) -> str:
    known = sum(bool(one.references) for one in dataset.examples)
    linked = sum(bool(one.sure or one.possible) for one in dataset.examples)
    parts = [f"{len(dataset.examples):,} examples"]
    parts.append(f"{known:,} with references" if known else "no references")
    if dataset.pictures:
        parts.append(f"{len(dataset.pictures):,} pictures")
    if linked:
        parts.append(f"{linked:,} with gold links")
    return ", ".join(parts)


def _show(backend: Backend, dataset: Dataset, analyses: Sequence[Analysis]) -> None:
    runs = tuple(stored_rows(analysis.path, dataset) for analysis in analyses)
    show_ownership(dataset, analyses, runs)
    if all(run.rows for run in runs):
        result(backend, analyses, runs)


def _progress(backend: Backend, dataset: Dataset, analyses: Sequence[Analysis]) -> None:
    """How far it is, and buttons to start, stop and go on."""
    show_deferred(NOT_BEGUN)
    key = " ".join(str(analysis.path) for analysis in analyses)
    job = jobs().get(key)
    if _other_jobs(key):
        st.fragment(_draw_other_jobs, run_every=LOOK_AGAIN)(key)
    if job and job.running:
        st.fragment(_draw_job, run_every=LOOK_AGAIN)(job)
        return
    if job and job.problem:
        problem(job.problem)
    done = sum(len(stored_rows(analysis.path, dataset).rows) for analysis in analyses)
    total = len(analyses) * len(dataset.examples)
    if done == total:
        return
    label = f"Go on with the other {total - done:,}" if done else f"Run {total:,} examples"
    st.button(
        label,
        type="primary",
        on_click=_start,
        args=(key, backend, dataset, analyses),
    )


def _start(
    key: str,
    backend: Backend,
    dataset: Dataset,
    analyses: Sequence[Analysis],
) -> None:
    title = f"{dataset.name}, {' and '.join(analysis.title for analysis in analyses)}"
    turns = jobs().turns

    def work(job: Job) -> None:
        _work(job, turns, backend, dataset, analyses)

    with defer_errors("starting the analysis", NOT_BEGUN):
        jobs().start(key, work, reader_id(), title)


def _work(
    job: Job,
    turns: Turns,
    backend: Backend,
    dataset: Dataset,
    analyses: Sequence[Analysis],
) -> None:
    """Run all analyses, one after the other; the job reports how far they are together."""
    count = len(dataset.examples)
    before = 0

    def run(request: Request) -> Trace:
        with turns.turn(lambda: job.watched, job.stopping):
            return backend.trace(request, background=True)

    def report(done: int, _: int) -> None:
        job.report(before + done, len(analyses) * count)

    with ExitStack() as stack:
        # All files are held from the start, so that no other job begins the second one meanwhile.
        files = [stack.enter_context(RowFile.open(one.path, one.header)) for one in analyses]
        for analysis, file in zip(analyses, files, strict=True):
            if not analyse(dataset, analysis.request, run, file, report, job.stopping):
                return
            before += count


def _other_jobs(key: str) -> list[Job]:
    """The reader's other running analyses: they may be of sets that are not chosen now."""
    shown = jobs().get(key)
    return [job for job in jobs().running(reader_id()) if job is not shown]


def _draw_other_jobs(key: str) -> None:
    for job in _other_jobs(key):
        _bar(job, f"{escaped(job.title)}: ")


def _draw_job(job: Job) -> None:
    """A running analysis; at its end the whole page is drawn again."""
    if not job.running:
        st.rerun()
    _bar(job)
    if job.owner != reader_id():
        st.caption("Another reader began this analysis, and can stop it.")


def _bar(job: Job, before: str = "") -> None:
    """How far a job is: whoever sees the bar watches the job; who began it can stop it."""
    job.watch()
    words, share = "Loading the model", 0.0
    if job.total:
        words, share = f"{job.done:,} of {job.total:,} examples", job.done / job.total
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(share, text=before + words)
        if job.owner == reader_id():
            st.button("Stop", key=f"stop_{job.number}", on_click=_stop, args=(job,))


def _stop(job: Job) -> None:
    """Stop a job and wait a while, since the examples on their way are still finished."""
    job.stop()
    job.wait(STOPPING)
