"""What is sent to the browser of a trace, site and layer: made once for all sessions, found again
by its content.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from areaviz.trace.record import Trace

MAX_BYTES = 32 * 2**20
"""Of all payloads that are kept: a sentence's takes some 50 KB, the largest 2 MB."""
KEPT_SECONDS = 600.0
"""A payload that nobody asked for in this time is made anew."""

Payload = Mapping[str, Any]
Make = Callable[[Trace, str, int], Payload]


@dataclass(frozen=True, slots=True)
class _Kept:
    payload: Payload
    size: int
    used: float


class Payloads:
    """Payloads by the digest of what they are made of; safe for several threads.

    A trace's digests are remembered for as long as it lives, but nothing here keeps it alive.

    Args:
        most: bytes that are kept; what was not asked for the longest goes first.
        seconds: after which what was not asked for goes.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        most: int = MAX_BYTES,
        seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._digests: weakref.WeakKeyDictionary[Trace, dict[tuple[str, int], str]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock, self._makers = threading.RLock(), weakref.WeakValueDictionary[str, _Maker]()

    def get(self, kind: str, trace: Trace, site: str, layer: int, make: Make) -> Payload:
        """The payload of a kind ("ribbon", "grid"), made if it is not there; equal ones are made
        once at a time.
        """
        key = f"{kind} {self._digest(trace, site, layer)}"
        with self._lock:
            maker = self._makers.setdefault(key, _Maker())
        with maker.lock:
            found = self._find(key)
            if found is None:
                found = make(trace, site, layer)
                self._keep(key, found)
        return found

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        with self._lock:
            return sum(one.size for one in self._kept.values())

    def _digest(self, trace: Trace, site: str, layer: int) -> str:
        with self._lock:
            known = self._digests.setdefault(trace, {})
        if (site, layer) not in known:
            known[site, layer] = digest(trace, site, layer)
        return known[site, layer]

    def _find(self, key: str) -> Payload | None:
        with self._lock:
            self._drop_old()
            if key not in self._kept:
                return None
            self._kept[key] = replace(self._kept[key], used=self._clock())
            self._kept.move_to_end(key)
            return self._kept[key].payload

    def _keep(self, key: str, payload: Payload) -> None:
        size = sum(array.nbytes for array in payload["arrays"].values())
        if size > self._most:
            return
        with self._lock:
            self._kept[key] = _Kept(payload, size, self._clock())
            self._drop_old()

    def _drop_old(self) -> None:
        end = self._clock() - self._seconds
        while self._kept:
            oldest = next(iter(self._kept.values()))
            if oldest.used >= end and self.size <= self._most:
                return
            self._kept.popitem(last=False)


class _Maker:
    """Held by whoever makes a payload; others wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@st.cache_resource(max_entries=1, show_spinner=False)
def payloads() -> Payloads:
    """Those of this process."""
    return Payloads()


def digest(trace: Trace, site: str, layer: int) -> str:
    """SHA-256 of all that a payload of this site and layer is made of."""
    attention, picture = trace.maps[site], trace.request.picture
    fields = [trace.fields[name] for name in dict.fromkeys((attention.query, attention.memory))]
    about = {
        "request": asdict(replace(trace.request, picture=None)),
        "picture": None if picture is None else (picture.name, picture.width, picture.height),
        "map": [
            site,
            layer,
            attention.layers,
            attention.query,
            attention.memory,
            attention.normalisation,
        ],
        "grid": asdict(attention.grid),
        "derived": attention.derived,
        "fields": [(field.name, field.kind, field.raw, field.labels) for field in fields],
        "said": ["history" in trace.fields, trace.details.get("decoding")],
    }
    found = hashlib.sha256(json.dumps(about, default=str).encode())
    found.update(b"" if picture is None else picture.rgb)
    arrays = [field.anchors for field in fields]
    arrays += [one[layer] for one in (attention.chosen, attention.strength) if one is not None]
    for array in [*arrays, *attention.weights[layer]]:
        found.update(repr(array.shape).encode())
        found.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return found.hexdigest()
