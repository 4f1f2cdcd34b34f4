"""Several readings of one picture on a page, which share one clock of looks."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.interactive.looks import Reading, look_addresses, readings_payload
from areaviz.interactive.message import packed
from areaviz.trace.record import Trace
from areaviz.ui.components.reported import reported
from areaviz.ui.shell.component import component


def looks(
    readings: Sequence[Reading], digits: str, look: int, against: str = "nothing", *, key: str
) -> int:
    """Draw readings side by side at one look, and return the look that the user chose.

    Args:
        readings: what the models read.
        digits: the digits in the picture, "" if they are unknown.
        look: the look of the page, from 0; a change moves the component to it.
        against: as in `picture_at_step`.
        key: a widget key that is unique on the page.
    """
    made = readings_payload(readings, digits, against, _kept_pictures)
    (look,) = reported(key, made) or (look,)
    component("looks")(key=key, data=packed(made, items=[look]), on_selection_change=lambda: None)
    return look


def _kept_pictures(trace: Trace, against: str) -> list[str]:
    """Return the pictures of all looks; they are kept under the name of the run."""
    return _pictures(_run(trace), against, trace)


@st.cache_data(max_entries=64, show_spinner=False)
def _pictures(run: tuple[object, ...], against: str, _trace: Trace) -> list[str]:
    return look_addresses(_trace, against)


def _run(trace: Trace) -> tuple[object, ...]:
    """Return what tells a run from another one; a retrained model has other probabilities."""
    request, picture = trace.request, trace.request.picture
    likely = trace.output.probabilities.tobytes()
    return request.model, request.sample, request.seed, picture and picture.digest, likely
