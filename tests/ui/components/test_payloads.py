"""Payloads for the browser are found by their content, and limited in bytes and time.

They keep no trace alive.
"""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from areaviz.app.components import PayloadCache, compute_input_digest
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.grid.grid import make_grid_payload
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from tests import fakes

SITE = "encoder-decoder"


class Maker:
    """A maker of payloads of this size that counts its calls."""

    def __init__(self, size: int = 10) -> None:
        self.size, self.made = size, list[tuple[str, int]]()

    def __call__(self, trace: Trace, site: str, layer: int) -> dict[str, Any]:
        self.made.append((trace.request.text, layer))
        return {"header": {"id": "x"}, "arrays": {"a": np.zeros(self.size, np.uint8)}}


def test_only_equal_traces_share_a_payload() -> None:
    kept, make, trace = PayloadCache(), Maker(), fakes.trace()
    first = kept.get("ribbon", trace, SITE, 0, make)
    assert kept.get("ribbon", fakes.trace(), SITE, 0, make) is first and len(make.made) == 1
    for kind, other, layer in (
        ("grid", trace, 0),
        ("ribbon", trace, 1),
        ("ribbon", fakes.trace("Other."), 0),
    ):
        assert kept.get(kind, other, SITE, layer, make) is not first
    assert len(make.made) == 4


def test_no_trace_is_kept_alive() -> None:
    kept, trace = PayloadCache(), fakes.trace()
    kept.get("ribbon", trace, SITE, 0, Maker())
    gone = weakref.ref(trace)
    del trace
    gc.collect()
    assert gone() is None and kept.size == 10


def test_bytes_and_time_are_bounded() -> None:
    now, make, trace = [0.0], Maker(40), fakes.trace(layers=5)
    kept = PayloadCache(100, 60, lambda: now[0])
    for layer in (0, 1, 0, 2):
        kept.get("ribbon", trace, SITE, layer, make)
    assert kept.size == 80 and [layer for _, layer in make.made] == [0, 1, 2]
    kept.get("ribbon", trace, SITE, 0, make)
    assert len(make.made) == 3, "what was asked for last stays"
    now[0] = 61
    kept.get("ribbon", trace, SITE, 0, make)
    assert len(make.made) == 4 and kept.size == 40
    kept.get("ribbon", trace, SITE, 3, Maker(101))
    assert kept.size == 40, "what is larger than all that may be kept is not"


def test_many_threads_create_one_payload() -> None:
    kept, make, trace, together = PayloadCache(), Maker(), fakes.trace(), threading.Barrier(8)

    def ask(_: int) -> int:
        together.wait()
        return id(kept.get("ribbon", trace, SITE, 0, make))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert len(make.made) == 1


def test_failed_payload_is_not_cached() -> None:
    kept, trace = PayloadCache(), fakes.trace()

    def fail(*_: object) -> dict[str, Any]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept.get("ribbon", trace, SITE, 0, fail)
    assert kept.get("ribbon", trace, SITE, 0, Maker())["header"]


def changed(trace: Trace) -> list[Trace]:
    """Yield the trace with one part changed, for every part that a payload shows."""
    one = trace.maps[SITE]
    weights = one.weights.copy()
    weights[0, 0, 0] = weights[0, 0, 0, ::-1]
    strength = np.ones(weights.shape[:3], np.float32)
    maps = [
        replace(one, weights=weights),
        replace(one, normalisation="another"),
        replace(one, derived="from others"),
        replace(one, strength=strength),
        replace(one, chosen=np.zeros(weights.shape[:3], np.int64)),
    ]
    query = trace.fields[one.query]
    fields = [
        replace(query, labels=("x", *query.labels[1:])),
        replace(query, raw=query.raw[:-1] + "?"),
        replace(query, anchors=np.minimum(query.anchors, len(query.raw) - 1)),
    ]
    found = [replace(trace, maps={**trace.maps, SITE: item}) for item in maps]
    found += [replace(trace, fields={**trace.fields, query.name: item}) for item in fields]
    requests = [
        replace(trace.request, model="other"),
        replace(trace.request, method="beam", beam=3),
    ]
    unsure = np.zeros_like(trace.output.probabilities)
    found.append(replace(trace, output=replace(trace.output, probabilities=unsure)))
    return found + [replace(trace, request=item) for item in requests]


@pytest.mark.parametrize("trace", [fakes.trace(), fakes.caption_trace()], ids=["text", "picture"])
def test_digest_covers_everything_shown(trace: Trace) -> None:
    make = make_grid_payload if trace.request.picture else make_ribbon_payload
    found = [trace, *changed(trace)]
    digests = [compute_input_digest(one, SITE, 0) for one in found]
    assert len(set(digests)) == len(found)
    seconds = replace(trace, details={**trace.details, "seconds": "9"})
    assert compute_input_digest(seconds, SITE, 0) == digests[0]
    payload, again = (make(one, Focus(SITE)) for one in (trace, seconds))
    assert payload["header"] == again["header"]
