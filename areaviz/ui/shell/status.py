"""What the operator is told of the app's work, its queue and its analyses, and how one of these is
stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.trace.errors import InputError
from areaviz.ui.shell.engine import requests_waiting
from areaviz.ui.shell.jobs import jobs


def work() -> dict[str, object]:
    """What JSON can hold. requests_waiting: None where no model was opened yet, or where they run
    elsewhere.
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
