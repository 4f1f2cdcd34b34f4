"""One run, and the same input decoded again under the reader's interventions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.query import output_given
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.shell.engine import known_card
from areaviz.ui.shell.waiting import traced
from areaviz.ui.what_if.state import NOTHING, Interventions, WhatIfPage, decoded

_RUNS = "what_if_runs"


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """One run and what became of it.

    Args:
        request: what was asked, unchanged.
        before: its trace.
        decoded: the interventions it was decoded with, if any.
        runs: decoded again under these, and the changed model over the output of `before`.
        failure: why there are none, in one sentence, or "".
    """

    request: Request
    before: Trace
    decoded: Interventions = NOTHING
    runs: tuple[Trace, Trace] | None = None
    failure: str = ""


def experiment(page: WhatIfPage, backend: Backend, request: Request, before: Trace) -> Experiment:
    """Decode again with what the reader wants done otherwise, if anything."""
    wanted = decoded(page, request)
    run = Experiment(request, before, wanted)
    if not wanted:
        return run
    written, asked = output_given(before), wanted.of(request.checked())
    held = st.session_state.get(_RUNS)
    if held is None or held[0] != (asked, written):
        try:
            is_given = reads_output(request.model)
            forced = replace(asked, target=written) if is_given else asked
            both = (asked,) if forced == asked else (asked, forced)
            found = traced(backend, both, "Decoding again with the changes")
        except (InputError, BackendError) as error:
            return replace(run, failure=str(error))
        held = st.session_state[_RUNS] = (asked, written), (found[0], found[-1])
    return replace(run, runs=held[1])


def reads_output(model: str) -> bool:
    """Whether a model can be given an output; of one that is gone, so it seems."""
    card = known_card(model)
    return card is None or "target" in card.can
