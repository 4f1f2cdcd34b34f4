"""Running what is asked, with progress in words; what is shown always belongs to what is asked."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.backend.base import Backend, Progress
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

_KEPT, _JUST_RUN = "result", "result_just_run"


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The traces of a tuple of requests, in its order."""

    requests: tuple[Request, ...]
    traces: tuple[Trace, ...]


def just_run() -> bool:
    """Whether this rerun of the page only follows the one that ran the model, and no wish of the reader's; once."""
    return bool(st.session_state.pop(_JUST_RUN, False))


def up_to_date(backend: Backend, requests: tuple[Request, ...]) -> Result:
    """The result of exactly these requests, run if there is none yet.

    While it runs, progress stands where the older result stood, so an older result is never taken for this one.

    Raises:
        InputError, BackendError: as the backend.
    """
    requests = tuple(request.checked() for request in requests)
    kept = st.session_state.get(_KEPT)
    if isinstance(kept, Result) and kept.requests == requests:
        return kept
    with st.empty():
        bar = st.progress(0.0, text="Waiting for the model")
        traces = tuple(
            backend.trace(request, _reporter(bar, turn, len(requests))) for turn, request in enumerate(requests)
        )
    st.session_state[_KEPT] = Result(requests, traces)
    st.session_state[_JUST_RUN] = True
    st.rerun()


def _reporter(bar: DeltaGenerator, turn: int, turns: int) -> Progress:
    """Progress over several runs, in one bar."""

    def report(share: float, words: str) -> None:
        bar.progress((turn + min(max(share, 0.0), 1.0)) / turns, text=words)

    return report
