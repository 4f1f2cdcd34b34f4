"""Looks in the browser: what one reader of digits read in turn, or several on one clock.

The script in `areaviz/components/looks` draws them. A page of one trace draws places on its own
picture. Several readers, of which some may have soft attention, have a picture for each look.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from areaviz.drawing.gazes import GLIMPSES, TRANSFORMER
from areaviz.drawing.look import picture_at_step, steps
from areaviz.drawing.pictures import to_data_uri
from areaviz.interactive.message import pack
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

WHAT = {
    GLIMPSES: "It reads glimpses. Frames show what it read at this step, the smallest one in"
    " most detail. The line joins the middles of the glimpses, and the filled dot"
    " is the latest.",
    TRANSFORMER: "It crops the part of the picture in the frame, straightens it and reads it.",
}
"""What is drawn of the looks of each site."""
Pictures = Callable[[Trace, str], list[str]]


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


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on places that a model read one after another."""
    return focus.site in WHAT and focus.site in trace.gazes


def looks_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return places, labels and probabilities of all looks; `header["id"]` changes with them.

    Args:
        trace: a trace of a model that read parts of a picture.
        focus: names the site.
    """
    gaze, picture = trace.gazes[focus.site], trace.request.picture
    assert picture is not None
    reader = {
        "title": trace.request.model,
        "what": WHAT[focus.site],
        "size": [picture.width, picture.height],
        "corners": np.round(gaze.corners.astype(float), 1).tolist(),
        "notes": [trace.details["warning"]] if "warning" in trace.details else [],
    }
    return _message("", [reader | _answer(trace)])


def look_addresses(trace: Trace, against: str) -> list[str]:
    """Return the pictures of all looks as data URLs; `against` is as in `picture_at_step`."""
    return [to_data_uri(picture_at_step(trace, step, against)) for step in range(steps(trace))]


def readings_payload(
    readings: Sequence[Reading],
    digits: str,
    against: str = "nothing",
    pictures: Pictures = look_addresses,
) -> dict[str, Any]:
    """Return a picture, a label and its probability for every look of several readings.

    Args:
        readings: what the models read.
        digits: the digits in the picture, "" if they are unknown.
        against: as in `picture_at_step`.
        pictures: as `look_addresses`, or a function that remembers what that returned.
    """
    readers = []
    for reading in readings:
        reader = {
            "title": reading.title,
            "what": reading.what,
            "pictures": pictures(reading.trace, against),
            "notes": list(reading.notes),
        }
        readers.append(reader | _answer(reading.trace))
    return _message(digits, readers)


def _answer(trace: Trace) -> dict[str, Any]:
    """Return what a reader answered after each look, and in the end."""
    return {
        "labels": list(trace.fields[trace.output.field].labels),
        "sure": [round(100 * float(one)) for one in trace.output.probabilities],
        "answer": trace.details.get("answer", ""),
    }


def _message(digits: str, readers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    header = {"digits": digits, "readers": readers}
    digest = hashlib.sha256(pack(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}
