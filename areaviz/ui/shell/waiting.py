"""A bar for what takes time, with words that say what it waits for.

Whoever leaves the page ends the waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from areaviz.backend.base import Backend, Caller
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from areaviz.ui.shell.budget import memory
from areaviz.ui.shell.reader import visitor


@contextmanager
def waiting(words: str) -> Iterator[Progress]:
    """A bar until the end of the block; yields what moves it, from 0 to 1, with new words."""
    place = st.empty()
    bar = place.progress(0.0, text=words)

    def report(share: float, words: str) -> None:
        bar.progress(min(max(share, 0.0), 1.0), text=words)

    try:
        yield report
    except Exception:
        # Not what Streamlit ends a page by: then there is nothing to draw to.
        place.empty()
        raise
    place.empty()


def traced(backend: Backend, requests: Sequence[Request], words: str) -> tuple[Trace, ...]:
    """The traces of requests, one after the other, with one bar for all of them.

    Raises:
        InputError: as the backend.
        BackendError: as the backend, or the app's readers hold too much already.
    """
    with waiting(words) as report:
        found, owner = [], visitor()
        for turn, request in enumerate(requests):
            trace = backend.trace(request, _part(report, turn, len(requests)), Caller(owner))
            memory().hold(trace, trace.nbytes, owner)
            found.append(trace)
        return tuple(found)


def _part(report: Progress, turn: int, turns: int) -> Progress:
    """Maps one run's progress into the shared bar, prefixed "Run 2 of 3"."""
    prefix = f"Run {turn + 1} of {turns}. " if turns > 1 else ""
    return lambda share, words: report((turn + min(max(share, 0.0), 1.0)) / turns, prefix + words)
