"""Data of the hops component: the weight of every fact in every hop, and the answer.

The script in `areaviz/components/hops` draws it, and lets users edit the facts.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from areaviz.draw.view import figure_caption
from areaviz.interactive.message import serialise_message
from areaviz.trace.changes import Hide
from areaviz.trace.kinds import EXPECTED, list_gold_facts
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus


def make_hops_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the data of all hops. `header["id"]` is a digest of the data.

    Args:
        trace: a trace in which a question attends to facts.
        focus: names the site.
    """
    attention = trace.maps[focus.site]
    weights_KM = np.round(attention.weights[:, 0, 0].astype(float), 4)
    header = {
        "heads": attention.heads,
        "facts": list(trace.fields[attention.memory].labels),
        "question": trace.fields[attention.query].raw,
        "answer": trace.fields[trace.output.field].raw,
        "sure": round(float(trace.output.probabilities[0]), 4),
        "expected": trace.details.get(EXPECTED, ""),
        "needed": list(list_gold_facts(trace)),
        "hidden": list(_list_hidden_facts(trace, attention.memory)),
        "weights": weights_KM.tolist(),
        "caption": figure_caption(trace, focus, all_layers=True),
    }
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}


def _list_hidden_facts(trace: Trace, memory: str) -> list[int]:
    """Return the indices of the facts that were hidden from the model."""
    found: set[int] = set()
    for change in trace.request.changes:
        if isinstance(change, Hide) and change.field == memory:
            found |= set(change.items)
    return sorted(found)
