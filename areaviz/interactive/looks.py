"""Looks in the browser: the places of a picture that a reader of digits read in turn.

The script in `areaviz/components/looks` draws them on the picture, one look after the other.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from areaviz.drawing.gazes import GLIMPSES, TRANSFORMER
from areaviz.interactive.message import pack
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

WHAT = {
    GLIMPSES: "It reads glimpses. Frames show what it read at this look, the smallest one in most"
    " detail. The line joins the middles of the looks, and the filled dot is the newest.",
    TRANSFORMER: "It cuts out the part of the picture in the frame, and reads it upright.",
}
"""What is drawn of the looks of each site."""


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
        "labels": list(trace.fields[gaze.query].labels),
        "sure": [round(100 * float(one)) for one in trace.output.probabilities],
        "answer": trace.details.get("answer", ""),
        "notes": [trace.details["warning"]] if "warning" in trace.details else [],
    }
    header = {"digits": "", "look": len(gaze.corners) - 1, "readers": [reader]}
    digest = hashlib.sha256(pack(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}
