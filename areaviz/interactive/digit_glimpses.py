"""Data of the looks component: the parts of a picture that digit readers read, step by step.

A digit reader is a model that reads digits, and a look is one step of its reading. The script in
`areaviz/components/looks` draws the looks of one reader, or of several readers side by side. A page
of one trace draws frames on the picture of the page. Several readers, some of which may have soft
attention, get a picture for each look.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from areaviz.draw.pictures import to_data_uri
from areaviz.drawing.gaze_steps import GLIMPSES, TRANSFORMER
from areaviz.drawing.step_picture import count_steps, draw_picture_at_step
from areaviz.interactive.message import serialise_message
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

LOOK_DESCRIPTIONS = {
    GLIMPSES: "It reads glimpses. Frames show what it read at this step, the smallest one in"
    " most detail. The line joins the middles of the glimpses, and the filled dot"
    " is the latest.",
    TRANSFORMER: "It crops the part of the picture in the frame, straightens it and reads it.",
}
"""Explanation of the drawing for each site with looks."""
Pictures = Callable[[Trace, str], list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class DigitReading:
    """One model's reading of a picture.

    Args:
        title: the name of the model.
        what: one sentence that explains how the model looks at the picture.
        trace: the trace of its run.
        notes: sentences below its answer, such as reasons to doubt the answer.
    """

    title: str
    what: str
    trace: Trace
    notes: Sequence[str] = ()


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on a site with looks, which is a gaze of the trace."""
    return focus.site in LOOK_DESCRIPTIONS and focus.site in trace.gazes


def make_looks_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the places, labels and probabilities of all looks, with a digest as `header["id"]`.

    Args:
        trace: a trace of a model that read parts of a picture.
        focus: names the site.
    """
    gaze, picture = trace.gazes[focus.site], trace.request.picture
    assert picture is not None
    reader = {
        "title": trace.request.model,
        "what": LOOK_DESCRIPTIONS[focus.site],
        "size": [picture.width, picture.height],
        "corners": np.round(gaze.corners.astype(float), 1).tolist(),
        "notes": [trace.details["warning"]] if "warning" in trace.details else [],
    }
    return _make_message("", [reader | _make_reader(trace)])


def encode_looks(trace: Trace, against: str) -> list[str]:
    """Return a picture of each look as a data URL. See `draw_picture_at_step` for `against`."""
    return [
        to_data_uri(draw_picture_at_step(trace, step, against))
        for step in range(count_steps(trace))
    ]


def make_readings_payload(
    readings: Sequence[DigitReading],
    digits: str,
    against: str = "nothing",
    pictures: Pictures = encode_looks,
) -> dict[str, Any]:
    """Return a picture, a label and its probability for every look of several models.

    Args:
        readings: the readings of the models.
        digits: the digits in the picture, or "" if they are unknown.
        against: see `draw_picture_at_step`.
        pictures: `encode_looks`, or a function that caches its results.
    """
    readers = []
    for reading in readings:
        reader = {
            "title": reading.title,
            "what": reading.what,
            "pictures": pictures(reading.trace, against),
            "notes": list(reading.notes),
        }
        readers.append(reader | _make_reader(reading.trace))
    return _make_message(digits, readers)


def _make_reader(trace: Trace) -> dict[str, Any]:
    """Return a model's label and its probability in per cent after each look, and its answer."""
    return {
        "labels": list(trace.fields[trace.output.field].labels),
        "sure": [round(100 * float(one)) for one in trace.output.probabilities],
        "answer": trace.details.get("answer", ""),
    }


def _make_message(digits: str, readers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    header = {"digits": digits, "readers": readers}
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}
