"""How far running analyses are: that of the set that is shown, and the reader's others, each with a
Stop.
"""

from __future__ import annotations

import streamlit as st

from areaviz.analysis.jobs import Job
from areaviz.ui.shell.jobs import jobs
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.reader import reader_id

LOOK_AGAIN, STOPPING = 1.0, 5.0  # seconds


def running(job: Job) -> None:
    """A running analysis, looked at again and again; the whole page is drawn anew at its end."""
    st.fragment(_shown, run_every=LOOK_AGAIN)(job)


def others_running(key: str) -> None:
    """The reader's other running analyses: they may be of sets that are not chosen now."""
    if _others(key):
        st.fragment(_others_shown, run_every=LOOK_AGAIN)(key)


def _others(key: str) -> list[Job]:
    shown = jobs().get(key)
    return [job for job in jobs().running(reader_id()) if job is not shown]


def _others_shown(key: str) -> None:
    for job in _others(key):
        _bar(job, f"{escaped(job.title)}: {_how_far(job)}")


def _shown(job: Job) -> None:
    if not job.running:
        st.rerun()
    _bar(job, _how_far(job))
    if job.owner != reader_id():
        st.caption("Another reader began this analysis, and can stop it.")


def _bar(job: Job, words: str) -> None:
    """Whoever sees the bar watches the job; who began it can stop it."""
    job.watch()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.done / job.total if job.total else 0.0, text=words)
        if job.owner == reader_id():
            st.button("Stop", key=f"stop_{job.number}", on_click=_stop, args=(job,))


def _how_far(job: Job) -> str:
    return f"{job.done:,} of {job.total:,} examples" if job.total else "Loading the model"


def _stop(job: Job) -> None:
    """What is on its way is still finished."""
    job.stop()
    job.wait(STOPPING)
