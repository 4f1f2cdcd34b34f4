"""The analyses of this process: one registry for all sessions, and the operator's commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from areaviz.analysis.jobs import Jobs
from areaviz.app.run import BackgroundWork
from areaviz.backend.costs import find_mark
from areaviz.trace.errors import InputError


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
