"""Data of the points component: the answer of a pointer network, and the weights of every step.

The script in `areaviz/components/points` draws it, and lets users move the points.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from areaviz.interactive.message import serialise_message
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

_SURE = 0.99
_SIZES = {"hull": ("area", "exact area"), "tour": ("length", "shortest")}
"""Keys in `Trace.details` for the size of the model's and of the exact answer, by problem."""


def make_points_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the points, the answer and the weights, with a digest as `header["id"]`.

    Args:
        trace: a trace in which the steps of an answer attend to points.
        focus: names the site.
    """
    attention = trace.maps[focus.site]
    details = trace.details
    exact = [int(label) - 1 for label in details.get("exact", "").split()]
    kind = details.get("kind", "")
    header = {
        "points": trace.fields[attention.memory].anchors.tolist(),
        "chosen": [int(label) - 1 for label in trace.fields[attention.query].labels],
        "exact": [*exact, exact[0]] if exact else [],
        "kind": kind,
        "sizes": [int(details[name]) for name in _SIZES.get(kind, ()) if name in details],
        "weights": np.round(attention.weights[0, 0].astype(float), 4).tolist(),
    }
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}


def choose_first_step(trace: Trace) -> int:
    """Return the least certain step, or the middle step if all are certain. It is shown first."""
    sure_T = trace.output.probabilities
    least = int(sure_T.argmin())
    return least if sure_T[least] < _SURE else len(sure_T) // 2
