"""The analyses of this process, one registry for all sessions, and the operator's view of it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.analysis.jobs import Jobs
from areaviz.trace.errors import InputError
from areaviz.ui.shell.engine import requests_waiting


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> Jobs:
    """The jobs of this process."""
    return Jobs()


def work() -> dict[str, object]:
    """How much is being done, as JSON can hold it.

    requests_waiting is None where no model was opened yet, or where they run elsewhere.
    """
    running = len(jobs().running())
    return {"requests_waiting": requests_waiting(), "analyses_running": running}


def analyses(words: Sequence[str]) -> list[dict[str, object]]:
    """The analyses that run, the oldest first."""
    return [job.entry for job in jobs().running()]


def stop_analysis(words: Sequence[str]) -> dict[str, object]:
    """Stop the analysis of a number, and say which it was; InputError where it does not run."""
    if len(words) != 1 or not (words[0].isascii() and words[0].isdigit()):
        raise InputError("Name the number of one analysis; python -m areaviz jobs lists them.")
    return jobs().stop(int(words[0])).entry
