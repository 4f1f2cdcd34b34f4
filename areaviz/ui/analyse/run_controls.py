"""Running models on a dataset: start button, progress bars and stop button."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import streamlit as st

from areaviz.analysis.jobs import FairScheduler, Job
from areaviz.analysis.rows import RowFile
from areaviz.analysis.run import analyse_dataset
from areaviz.app.run import get_user_id, get_visitor
from areaviz.app.texts import defer_errors, escape_markdown, pluralise, show_deferred, show_error
from areaviz.backend.backend import Backend, Caller
from areaviz.samples.dataset import Dataset
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.analyse.analysis_history import save_to_history
from areaviz.ui.analyse.dataset_form import ChosenSet
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import Analysis
from areaviz.ui.app.jobs import get_jobs

# Session key: the reason why an analysis was not started.
START_PROBLEM_KEY = "analyse_not_begun"
# The caller of all analyses, whose turns `FairScheduler` decides.
ANALYSIS_CALLER = Caller(in_background=True)
# Seconds between updates of a running analysis, and seconds that Stop waits for its end.
UPDATE_SECONDS, STOP_WAIT_SECONDS = 1.0, 5.0


def draw_run_controls(
    page: AnalysePage, backend: Backend, chosen: ChosenSet, analyses: Sequence[Analysis]
) -> None:
    """Draw the progress of the run and buttons to start, stop and continue it."""
    show_deferred(START_PROBLEM_KEY)
    dataset = chosen.dataset
    models = [analysis for analysis in analyses if analysis.request]
    key = " ".join(str(analysis.path) for analysis in models)
    job = get_jobs().get(key)
    if _list_other_jobs(key):
        st.fragment(_draw_other_jobs, run_every=UPDATE_SECONDS)(key)
    if job and job.running:
        st.fragment(_draw_job, run_every=UPDATE_SECONDS)(job)
        return
    if job and job.problem:
        show_error(job.problem)
    done = sum(len(analysis.read_rows(dataset).rows) for analysis in models)
    count = len(dataset.examples)
    total = len(models) * count
    if done == total:
        return
    label = f"Run {pluralise(count, 'example')}"
    if len(models) > 1:
        label += f" with {len(models)} models"
    st.button(
        f"Go on with the other {total - done:,}" if done else label,
        type="primary",
        on_click=_start_analysis,
        args=(page, key, backend, chosen, analyses),
    )
    if chosen.files is not None and not done:
        st.caption("Your files are kept with the analysis, for you alone, until you delete them.")


def _start_analysis(
    page: AnalysePage,
    key: str,
    backend: Backend,
    chosen: ChosenSet,
    analyses: Sequence[Analysis],
) -> None:
    dataset = chosen.dataset
    models = [analysis for analysis in analyses if analysis.request]
    title = f"{dataset.name}, {' and '.join(analysis.title for analysis in models)}"
    turns = get_jobs().turns

    def work(job: Job) -> None:
        _run_analyses(job, turns, backend, dataset, models)

    with defer_errors("starting the analysis", START_PROBLEM_KEY):
        get_jobs().start(key, work, get_user_id(), title, get_visitor().address)
        save_to_history(page, chosen, analyses)


def _run_analyses(
    job: Job,
    turns: FairScheduler,
    backend: Backend,
    dataset: Dataset,
    analyses: Sequence[Analysis],
) -> None:
    """Run all analyses one after another. The job reports their total progress."""
    count = len(dataset.examples)
    before = 0

    def run(request: Request) -> Trace:
        with turns.turn(lambda: job.watched, job.stopping):
            return backend.trace(request, caller=ANALYSIS_CALLER)

    def report(done: int, _: int) -> None:
        job.report(before + done, len(analyses) * count)

    with ExitStack() as stack:
        # Lock all files from the start, so that no other job starts on the second one meanwhile.
        files = []
        for one in analyses:
            if one.request and one.path and one.header:
                file = stack.enter_context(RowFile.open(one.path, one.header))
                files.append((one.request, file))
        for request, file in files:
            if not analyse_dataset(dataset, request, run, file, report, job.stopping):
                return
            before += count


def _list_other_jobs(key: str) -> list[Job]:
    """Return the user's other running analyses, which may be of other datasets."""
    shown = get_jobs().get(key)
    return [job for job in get_jobs().running(get_user_id()) if job is not shown]


def _draw_other_jobs(key: str) -> None:
    for job in _list_other_jobs(key):
        _draw_bar(job, f"{escape_markdown(job.title)}: ")


def _draw_job(job: Job) -> None:
    """Draw a running analysis. Redraw the whole page when it ends."""
    if not job.running:
        st.rerun()
    _draw_bar(job)
    if job.owner != get_user_id():
        st.caption("Another reader began this analysis, and can stop it.")


def _draw_bar(job: Job, before: str = "") -> None:
    """Draw the progress bar of a job.

    Drawing the bar marks the job as watched. Only the user who started the job sees a stop button.
    """
    job.watch()
    words, share = "Loading the model", 0.0
    if job.total:
        words, share = f"{job.done:,} of {job.total:,} examples", job.done / job.total
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(share, text=before + words)
        if job.owner == get_user_id():
            st.button("Stop", key=f"stop_{job.number}", on_click=_stop_job, args=(job,))


def _stop_job(job: Job) -> None:
    """Stop a job and wait a while, because examples in progress are still finished."""
    job.stop()
    job.wait(STOP_WAIT_SECONDS)
