"""The analyses of this process: one registry for all sessions, and the operator's commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from areaviz.analysis.jobs import Jobs
from areaviz.backend.fair import find_mark
from areaviz.shares.limits import list_limits
from areaviz.trace.errors import InputError
from areaviz.ui.app.budget import get_disk_budget, get_memory_budget
from areaviz.ui.app.engine import count_waiting_requests, list_load_by_user


@st.cache_resource(max_entries=1, show_spinner=False)
def get_jobs() -> Jobs:
    """Return the jobs of this process."""
    return Jobs()


def describe_work() -> dict[str, object]:
    """Return the amount of work in progress and its users, as JSON values.

    `count_waiting_requests` is None if no model was opened yet or the models run elsewhere.
    `question_load` contains the predicted seconds of computation for each user.
    """
    running = get_jobs().running()
    owners = Counter(find_mark(job.owner) for job in running)
    return {
        "requests_waiting": count_waiting_requests(),
        "question_load": list_load_by_user(),
        "analyses_running": len(running),
        "analyses_by_reader": dict(owners.most_common()),
        "attention_megabytes": get_memory_budget().list_mebibytes_by_user(),
        "upload_megabytes_on_disk": get_disk_budget().list_mebibytes_by_user(),
        "limits": list_limits(),
    }


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
