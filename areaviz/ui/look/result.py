"""Running what is asked; what is shown always belongs to what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.shell.errors import problem
from areaviz.ui.shell.waiting import traced

_KEPT, _JUST_RUN = "result", "result_just_run"


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What one page ran last: requests with a title each, and the trace of each.

    current: whether that is what is asked now, and not what was asked before.
    """

    page: str
    titles: tuple[str, ...]
    requests: tuple[Request, ...]
    traces: tuple[Trace, ...]
    current: bool = True


def just_run() -> bool:
    """Whether this rerun of the page only follows the one that ran the model, and no wish of the
    reader's; once.
    """
    return bool(st.session_state.pop(_JUST_RUN, False))


def up_to_date(
    backend: Backend, page: str, requests: Sequence[Request], titles: Sequence[str]
) -> Result:
    """The result of exactly these requests, run if there is none yet.

    While it runs, progress stands where the older result stood, so an older result is never taken
    for this one. Where the input cannot be used, a sentence says so and the page's older result
    stays, named as what it is.

    Raises:
        InputError: the input cannot be used, and there is no older result.
        BackendError: as the backend.
    """
    kept = st.session_state.get(_KEPT)
    older = kept if isinstance(kept, Result) and kept.page == page else None
    try:
        asked = tuple(request.checked() for request in requests)
        if older and older.requests == asked:
            return replace(older, titles=tuple(titles))
        traces = traced(backend, asked, "Waiting for the model")
    except InputError as error:
        if older is None:
            raise
        problem(str(error))
        st.caption("What follows is still the result of what you asked before.")
        return replace(older, current=False)
    st.session_state[_KEPT] = Result(page, tuple(titles), asked, traces)
    st.session_state[_JUST_RUN] = True
    st.rerun()
