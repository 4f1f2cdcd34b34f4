"""Running models on a dataset: the jobs of the process, earlier analyses, and the controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import streamlit as st

from areaviz.app.frame import draw_page_link
from areaviz.app.page import build_link_params
from areaviz.app.run import BackgroundWork, get_user_digest, get_user_id, get_visitor
from areaviz.app.texts import (
    defer_errors,
    escape_markdown,
    pluralise,
    shorten_line,
    show_deferred,
    show_error,
)
from areaviz.backend.backend import Backend, Caller
from areaviz.backend.costs import find_mark
from areaviz.draw.labels import escape_controls
from areaviz.samples.dataset import Dataset
from areaviz.sets.app.form import ChosenSet
from areaviz.sets.app.state import BLIND_PARAM, EXAMPLE_PARAM, SET_PARAM, AnalysePage, Analysis
from areaviz.sets.jobs import FairScheduler, Job, Jobs
from areaviz.sets.run import RowFile, analyse_dataset, find_analyses_folder
from areaviz.sets.user_files import Entry, ReaderFiles
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

# The analyses of this process: one registry for all sessions, and the operator's commands.


@st.cache_resource(max_entries=1, show_spinner=False)
def get_jobs() -> Jobs:
    """Return the jobs of this process."""
    return Jobs()


def describe_analyses() -> dict[str, object]:
    """Return the number of running analyses, in all and by user."""
    running = get_jobs().running()
    owners = Counter(find_mark(job.owner) for job in running)
    return {"analyses_running": len(running), "analyses_by_reader": dict(owners.most_common())}


def list_analyses(words: Sequence[str]) -> list[dict[str, object]]:
    """Return the running analyses, the oldest first."""
    return [job.entry for job in get_jobs().running()]


def stop_analysis(words: Sequence[str]) -> dict[str, object]:
    """Stop the analysis with a number and return it.

    Raises:
        InputError: no analysis with this number is running.
    """
    if len(words) != 1 or not (words[0].isascii() and words[0].isdigit()):
        raise InputError("Name the number of one analysis. python -m areaviz jobs lists them.")
    return get_jobs().stop(int(words[0])).entry


ANALYSES = BackgroundWork(describe_analyses, {"jobs": list_analyses, "jobs stop": stop_analysis})


# The user's earlier analyses: stored with uploaded datasets, listed, and opened again.
#
# They are private: other users cannot find them, and the URL of one does not open it for them.


# Number of analyses shown before "All".
MAX_LISTED_ANALYSES = 5


def get_user_files() -> ReaderFiles:
    """Return this user's files on the server."""
    return ReaderFiles(find_analyses_folder(), get_user_digest(), get_visitor().address)


def build_analysis_params(chosen: ChosenSet, analyses: Sequence[Analysis]) -> dict[str, str]:
    """Return the URL parameters that open an analysis."""
    params = {SET_PARAM: chosen.address}
    requests = [one.request for one in analyses if one.request is not None]
    if requests:
        compare = requests[1].model if len(requests) > 1 else ""
        params |= build_link_params(requests[0], compare=compare)
    return params


def save_to_history(page: AnalysePage, chosen: ChosenSet, analyses: Sequence[Analysis]) -> None:
    """Put an analysis on the user's list, and store the files of an uploaded dataset with it.

    Raises:
        BackendError: the disk fails.
    """
    dataset, params = chosen.dataset, build_analysis_params(chosen, analyses)
    runs = tuple(one.title for one in analyses)
    entry = Entry(params, dataset.name, len(dataset.examples), runs, dataset.digest)
    if page.state.history_entry == entry.id:
        return
    own = get_user_files()
    if chosen.files is not None:
        own.keep_set(dataset, chosen.files, chosen.roles)
    own.note(entry)
    page.set(history_entry=entry.id)


def update_browser_url(page: AnalysePage, chosen: ChosenSet, analyses: Sequence[Analysis]) -> None:
    """Set the browser's URL to that of the analysis with its open example."""
    params = build_analysis_params(chosen, analyses)
    if page.state.example is not None:
        params[EXAMPLE_PARAM] = str(page.state.example + 1)
    if page.state.is_blind:
        params[BLIND_PARAM] = "1"
    page.set_url_params(params)


def draw_history(now: Mapping[str, str]) -> None:
    """Draw the list of the user's analyses without the open one, which has these parameters."""
    _warn_of_evicted_sets()
    entries = [entry for entry in get_user_files().entries() if entry.params != now]
    if not entries:
        return
    with st.expander("Earlier analyses", key="analyse_earlier", type="compact"):
        st.caption("Yours alone. Each opens as you left it, with the set it was of.")
        for entry in entries[:MAX_LISTED_ANALYSES]:
            _draw_entry_link(entry)
        if len(entries) > MAX_LISTED_ANALYSES:
            with st.popover(f"All {len(entries)}", type="tertiary"):
                for entry in entries[MAX_LISTED_ANALYSES:]:
                    _draw_entry_link(entry)


def _warn_of_evicted_sets() -> None:
    """Name the user's datasets removed to make room, until the user has dismissed the message."""
    own = get_user_files()
    names = own.list_evicted_sets()
    if not names:
        return
    listed = shorten_line(", ".join(f"“{escape_controls(name)}”" for name in names), 200)
    st.warning(
        escape_markdown(
            f"The app ran out of room for sets, so it removed files of yours: {listed}. Your"
            " analyses are kept. Choose the files again to open them."
        )
    )
    st.button("OK", key="analyse_evicted", on_click=own.forget_evicted)


def _draw_entry_link(entry: Entry) -> None:
    name = escape_markdown(shorten_line(entry.dataset, 40))
    runs = escape_markdown(shorten_line(" and ".join(entry.runs), 90))
    when = f"{entry.opened[:10]}, {entry.opened[11:16]} UTC"
    label = f"{name}, {pluralise(entry.examples, 'example')}: {runs} · {when}"
    draw_page_link("pages/analyse.py", label, entry.params)


# Running models on a dataset: start button, progress bars and stop button.


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
    page: AnalysePage, key: str, backend: Backend, chosen: ChosenSet, analyses: Sequence[Analysis]
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
    job: Job, turns: FairScheduler, backend: Backend, dataset: Dataset, analyses: Sequence[Analysis]
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
