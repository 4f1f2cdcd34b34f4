"""One run, and the same input decoded again under the reader's interventions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.shell.waiting import traced
from areaviz.ui.what_if.state import NOTHING, Interventions, WhatIfPage, decoded

TITLE = "What if"
_RUNS = "what_if_runs"


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """One run and what became of it.

    Args:
        backend: runs what is changed.
        request: what was asked, unchanged.
        before: its trace.
        decoded: the interventions it was decoded with, if any.
        after: decoded again under these.
        forced: the changed model over the output of `before`.
        failure: why there are neither, in one sentence, or "".
    """

    backend: Backend
    request: Request
    before: Trace
    decoded: Interventions = NOTHING
    after: Trace | None = None
    forced: Trace | None = None
    failure: str = ""

    @property
    def traces(self) -> tuple[Trace, ...]:
        """What stands beside the original."""
        return () if self.after is None else (self.after,)

    @property
    def titles(self) -> tuple[str, ...]:
        """What it is called."""
        return () if self.after is None else (TITLE,)


def experiment(page: WhatIfPage, backend: Backend, request: Request, before: Trace) -> Experiment:
    """Decode again with what the reader wants done otherwise, if anything."""
    wanted = decoded(page, request)
    run = Experiment(backend, request, before, wanted)
    if not wanted:
        return run
    written = before.fields[before.output.field].raw
    asked = wanted.of(replace(before.request, target=None))
    held = st.session_state.get(_RUNS)
    if held is None or held[0] != (asked, written):
        try:
            both = asked, replace(asked, target=written)
            runs = traced(backend, both, "Decoding again with the changes")
        except (InputError, BackendError) as error:
            return replace(run, failure=str(error))
        held = st.session_state[_RUNS] = (asked, written), runs
    after, forced = held[1]
    return replace(run, after=after, forced=forced)
