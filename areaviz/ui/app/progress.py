"""A progress bar for slow work, with words that name the work.

Leaving the page ends the wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from areaviz.backend.backend import Backend, Caller
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from areaviz.ui.app.budget import get_memory_budget
from areaviz.ui.app.user_identity import get_visitor


@contextmanager
def draw_progress(words: str) -> Iterator[Progress]:
    """Draw a progress bar until the end of the block. Yield a function that updates it, 0 to 1."""
    place = st.empty()
    bar = place.progress(0.0, text=words)

    def report(share: float, words: str) -> None:
        bar.progress(min(max(share, 0.0), 1.0), text=words)

    try:
        yield report
    except Exception:
        # `Exception` excludes the exceptions with which Streamlit ends a page: nothing can be drawn
        # then.
        place.empty()
        raise
    place.empty()


def run_requests(backend: Backend, requests: Sequence[Request], words: str) -> tuple[Trace, ...]:
    """Return the traces of requests, run one after another with one progress bar for all.

    Raises:
        InputError: as the backend.
        BackendError: as the backend, or the users of the app already hold too much.
    """
    with draw_progress(words) as report:
        found, owner = [], get_visitor()
        for turn, request in enumerate(requests):
            trace = backend.trace(
                request, _map_progress(report, turn, len(requests)), Caller(owner)
            )
            get_memory_budget().hold(trace, trace.nbytes, owner)
            found.append(trace)
        return tuple(found)


def _map_progress(report: Progress, turn: int, turns: int) -> Progress:
    """Map the progress of one run into the shared bar, with the prefix "Run 2 of 3"."""
    prefix = f"Run {turn + 1} of {turns}. " if turns > 1 else ""
    return lambda share, words: report((turn + min(max(share, 0.0), 1.0)) / turns, prefix + words)
