"""Payloads: the data that browsers draw for one site and layer of a trace.

A payload is created once for all sessions. A digest of its inputs identifies it.
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

from areaviz.show.message import OPENS_AT
from areaviz.trace.record import Trace

MAX_CACHED_BYTES = 32 * 2**20
"""Limit on all payloads together in bytes.

The payload of a sentence takes about 50 KB. The largest payload takes 2 MB.
"""
LIFETIME_SECONDS = 600.0
"""A payload expires this many seconds after its last request."""

Payload = Mapping[str, Any]
PayloadMaker = Callable[[Trace, str, int], Payload]


@dataclass(frozen=True, slots=True)
class _Entry:
    payload: Payload
    size: int
    used: float


class PayloadCache:
    """Payloads by the digest of their inputs; safe for several threads.

    The digests of a trace are cached while the trace lives. The cache does not keep the trace
    alive.

    Args:
        max_bytes: the largest number of bytes. The least recently requested payload is dropped
            first.
        seconds: a payload expires this many seconds after its last request.
        clock: returns a number of seconds that never decreases.
    """

    def __init__(
        self,
        max_bytes: int = MAX_CACHED_BYTES,
        seconds: float = LIFETIME_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes, self._seconds, self._clock = max_bytes, seconds, clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._digests: weakref.WeakKeyDictionary[Trace, dict[tuple[str, int], str]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock, self._makers = threading.RLock(), weakref.WeakValueDictionary[str, _MakerLock]()

    def get(self, kind: str, trace: Trace, site: str, layer: int, make: PayloadMaker) -> Payload:
        """Return the payload of a kind ("ribbon", "grid"). Simultaneous requests share it."""
        key = f"{kind} {self._digest(trace, site, layer)}"
        with self._lock:
            maker = self._makers.setdefault(key, _MakerLock())
        with maker.lock:
            found = self._find(key)
            if found is None:
                found = make(trace, site, layer)
                self._keep(key, found)
        return found

    @property
    def size(self) -> int:
        """The number of bytes held."""
        with self._lock:
            return sum(one.size for one in self._entries.values())

    def _digest(self, trace: Trace, site: str, layer: int) -> str:
        with self._lock:
            known = self._digests.setdefault(trace, {})
        if (site, layer) not in known:
            known[site, layer] = compute_input_digest(trace, site, layer)
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
        if size > self._max_bytes:
            return
        with self._lock:
            self._entries[key] = _Entry(payload, size, self._clock())
            self._drop_old()

    def _drop_old(self) -> None:
        end = self._clock() - self._seconds
        while self._entries:
            oldest = next(iter(self._entries.values()))
            if oldest.used >= end and self.size <= self._max_bytes:
                return
            self._entries.popitem(last=False)


class _MakerLock:
    """A lock that is held while a payload is created, so that other requests wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@st.cache_resource(max_entries=1, show_spinner=False)
def get_payload_cache() -> PayloadCache:
    """Return the payloads of this process."""
    return PayloadCache()


def compute_input_digest(trace: Trace, site: str, layer: int) -> str:
    """Return the SHA-256 of all inputs of a payload of this site and layer."""
    attention, picture = trace.maps[site], trace.request.picture
    fields = [trace.fields[name] for name in dict.fromkeys((attention.query, attention.memory))]
    about = (
        replace(trace.request, picture=None),
        picture and (picture.name, picture.width, picture.height),
        (site, layer, attention.layers, attention.query, attention.memory),
        (attention.normalisation, attention.grid, attention.derived),
        [(field.name, field.kind, field.raw, field.labels) for field in fields],
        ("history" in trace.fields, trace.details.get("decoding"), trace.details.get(OPENS_AT)),
        # The ribbon marks the output's items that the model is unsure of.
        (trace.output.field, np.flatnonzero(trace.output.probabilities < 0.5).tolist()),
    )
    found = hashlib.sha256(repr(about).encode())
    found.update(b"" if picture is None else picture.rgb)
    arrays = [field.anchors for field in fields]
    arrays += [one[layer] for one in (attention.chosen, attention.strength) if one is not None]
    for array in [*arrays, *attention.weights[layer]]:
        found.update(repr(array.shape).encode())
        found.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return found.hexdigest()
