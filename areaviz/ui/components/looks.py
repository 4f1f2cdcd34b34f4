"""Several readings of one picture on a page, which share one clock of looks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from areaviz.drawing.pictures import uri
from areaviz.trace.record import Trace
from areaviz.ui.shell.component import component
from areaviz.views.look import look_picture, steps


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What one model read.

    Args:
        title: the name of the reader.
        what: its mechanism in one sentence.
        trace: its trace.
        notes: sentences below its answer, such as reasons to doubt it.
    """

    title: str
    what: str
    trace: Trace
    notes: Sequence[str] = ()


def looks(
    readings: Sequence[Reading], digits: str, look: int, against: str = "nothing", *, key: str
) -> int:
    """Draw readings side by side at one look, and return the look that the user chose.

    Args:
        readings: what the models read.
        digits: the digits in the picture, "" if they are unknown.
        look: the look of the page, from 0; a change moves the component to it.
        against: as in `look_picture`.
        key: a widget key that is unique on the page.
    """
    data = looks_data(readings, digits, against)
    state = st.session_state.get(key)
    report = state.get("look") if state else None
    known = f"{key}:report"
    if report and report != st.session_state.get(known) and report["id"] == data["id"]:
        look = int(report["look"])
    st.session_state[known] = report
    component("looks")(key=key, data={**data, "look": look}, on_look_change=lambda: None)
    return look


def looks_data(readings: Sequence[Reading], digits: str, against: str) -> dict[str, Any]:
    """Return the data for the browser: a picture, a label and its probability for every look."""
    readers = []
    for reading in readings:
        trace = reading.trace
        readers.append(
            {
                "title": reading.title,
                "what": reading.what,
                "pictures": _pictures(_run(trace), against, trace),
                "labels": list(trace.fields[trace.output.field].labels),
                "sure": [round(100 * float(one)) for one in trace.output.probabilities],
                "answer": trace.details.get("answer", ""),
                "notes": list(reading.notes),
            }
        )
    data = {"digits": digits, "readers": readers}
    digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
    return {"id": digest, **data}


@st.cache_data(max_entries=64, show_spinner=False)
def _pictures(run: tuple[object, ...], against: str, _trace: Trace) -> list[str]:
    """Return the pictures of all looks as data URLs; they are kept under the name of the run."""
    return [uri(look_picture(_trace, step, against)) for step in range(steps(_trace))]


def _run(trace: Trace) -> tuple[object, ...]:
    """Return what tells a run from another one; a retrained model has other probabilities."""
    request, picture = trace.request, trace.request.picture
    likely = trace.output.probabilities.tobytes()
    return request.model, request.sample, request.seed, picture and picture.digest, likely
