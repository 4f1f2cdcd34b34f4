"""What the browser gets of a trace, site and layer: made once for all sessions.

A payload is found again by the content of what it is made of.
"""

from __future__ import annotations

import hashlib
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from areaviz.trace.record import Trace

MAX_BYTES = 32 * 2**20
"""Of all payloads together: a sentence's takes some 50 KB, the largest 2 MB."""
LIFETIME = 600.0
"""Seconds after which a payload that nobody asked for is dropped."""

Payload = Mapping[str, Any]
Make = Callable[[Trace, str, int], Payload]


@dataclass(frozen=True, slots=True)
class _Entry:
    payload: Payload
    size: int
    used: float


class Payloads:
    """Payloads by the digest of what they are made of; safe for several threads.

    A trace's digests are remembered for as long as it lives, but nothing here keeps it alive.

    Args:
        most: bytes at once; what was not asked for the longest is dropped first.
        seconds: after which what was not asked for is dropped.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        most: int = MAX_BYTES,
        seconds: float = LIFETIME,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._digests: weakref.WeakKeyDictionary[Trace, dict[tuple[str, int], str]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock, self._makers = threading.RLock(), weakref.WeakValueDictionary[str, _Maker]()

    def get(self, kind: str, trace: Trace, site: str, layer: int, make: Make) -> Payload:
        """The payload of a kind ("ribbon", "grid"); two readers who ask at once share one."""
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
        """Bytes that are held."""
        with self._lock:
            return sum(one.size for one in self._entries.values())

    def _digest(self, trace: Trace, site: str, layer: int) -> str:
        with self._lock:
            known = self._digests.setdefault(trace, {})
        if (site, layer) not in known:
            known[site, layer] = digest(trace, site, layer)
        return known[site, layer]

    def _find(self, key: str) -> Payload | None:
        with self._lock:
            self._drop_old()
            if key not in self._entries:
                return None
            self._entries[key] = replace(self._entries[key], used=self._clock())
            self._entries.move_to_end(key)
            return self._entries[key].payload

    def _keep(self, key: str, payload: Payload) -> None:
        size = sum(array.nbytes for array in payload["arrays"].values())
        if size > self._most:
            return
        with self._lock:
            self._entries[key] = _Entry(payload, size, self._clock())
            self._drop_old()

    def _drop_old(self) -> None:
        end = self._clock() - self._seconds
        while self._entries:
            oldest = next(iter(self._entries.values()))
            if oldest.used >= end and self.size <= self._most:
                return
            self._entries.popitem(last=False)


class _Maker:
    """Its lock is held by whoever makes a payload; others wait for it."""

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
    about = (
        replace(trace.request, picture=None),
        picture and (picture.name, picture.width, picture.height),
        (site, layer, attention.layers, attention.query, attention.memory),
        (attention.normalisation, attention.grid, attention.derived),
        [(field.name, field.kind, field.raw, field.labels) for field in fields],
        ("history" in trace.fields, trace.details.get("decoding")),
    )
    found = hashlib.sha256(repr(about).encode())
    found.update(b"" if picture is None else picture.rgb)
    arrays = [field.anchors for field in fields]
    arrays += [one[layer] for one in (attention.chosen, attention.strength) if one is not None]
    for array in [*arrays, *attention.weights[layer]]:
        found.update(repr(array.shape).encode())
        found.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return found.hexdigest()
