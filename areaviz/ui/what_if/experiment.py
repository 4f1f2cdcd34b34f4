"""A run, and the result of decoding its input again under the user's interventions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from areaviz.backend.backend import Backend
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.query import format_given_output
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.app.engine import find_card
from areaviz.ui.app.progress import run_requests
from areaviz.ui.what_if.state import (
    NO_INTERVENTIONS,
    Interventions,
    WhatIfPage,
    get_decoded_interventions,
)

_RUNS_KEY = "what_if_runs"


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A run and its repetition under interventions.

    Args:
        request: the unchanged request.
        before: its trace.
        decoded: the interventions with which it was decoded again, if any.
        runs: the new decoding, and the changed model applied to the output of `before`.
        failure: one sentence that says why there are none, or "".
    """

    request: Request
    before: Trace
    decoded: Interventions = NO_INTERVENTIONS
    runs: tuple[Trace, Trace] | None = None
    failure: str = ""


def run_experiment(
    page: WhatIfPage, backend: Backend, request: Request, before: Trace
) -> Experiment:
    """Decode again with the user's interventions, if there are any."""
    wanted = get_decoded_interventions(page, request)
    run = Experiment(request, before, wanted)
    if not wanted:
        return run
    written, asked = format_given_output(before), wanted.add_to(request.checked())
    held = st.session_state.get(_RUNS_KEY)
    if held is None or held[0] != (asked, written):
        try:
            is_given = can_read_output(request.model)
            forced = replace(asked, target=written) if is_given else asked
            both = (asked,) if forced == asked else (asked, forced)
            found = run_requests(backend, both, "Decoding again with the changes")
        except (InputError, BackendError) as error:
            return replace(run, failure=str(error))
        held = st.session_state[_RUNS_KEY] = (asked, written), (found[0], found[-1])
    return replace(run, runs=held[1])


def can_read_output(model: str) -> bool:
    """Return whether a model can be given an output. This is true for a model that is gone."""
    card = find_card(model)
    return card is None or "target" in card.can
