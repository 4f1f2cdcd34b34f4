"""A backend that remembers: equal requests are answered from memory."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

from areaviz.backend.base import Backend, Progress, Queued
from areaviz.cards.card import Card
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

MAX_BYTES = 256 * 2**20
TELL_SECONDS = 0.5


class CachedBackend:
    """Wraps a backend; keeps the traces used last, by content.

    The key is the SHA-256 of the request and the model's card, which names the code version, so a
    retrained model never answers with an old trace. At most `max_entries` traces and `max_bytes`
    bytes of weights are kept; the one unused for longest goes first. Equal requests that arrive
    together run once. Failures are not remembered.
    """

    def __init__(self, inner: Backend, max_entries: int = 32, max_bytes: int = MAX_BYTES) -> None:
        if max_entries < 1:
            raise ValueError(f"A cache needs room for at least one entry, got {max_entries}.")
        self._inner = inner
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._kept: OrderedDict[str, Trace] = OrderedDict()
        self._running: dict[str, tuple[threading.Lock, int]] = {}
        self._lock = threading.Lock()

    def models(self) -> dict[str, Card]:
        """The models of the wrapped backend."""
        return self._inner.models()

    def problems(self) -> tuple[str, ...]:
        """The problems of the wrapped backend."""
        return self._inner.problems()

    def device(self) -> str:
        """Where the wrapped backend runs."""
        return self._inner.device()

    def waiting(self) -> int | None:
        """How many requests wait in this process; None where they wait elsewhere."""
        return self._inner.waiting() if isinstance(self._inner, Queued) else None

    def trace(
        self, request: Request, progress: Progress | None = None, background: bool = False
    ) -> Trace:
        """The remembered trace, or a new one; raises what the wrapped backend raises.

        A given output is read anew each time: that takes one pass, and a measure of faithfulness
        has many. A reader who asks what runs in the background already does not wait for that, for
        it may wait for other readers.
        """
        if request.target is not None:
            return self._inner.trace(request, progress, background)
        key = key_of(request, self.models().get(request.model))
        if background:
            return self._found(key, request, progress, background)
        with self._alone(key, progress):
            return self._found(key, request, progress, background)

    def _found(
        self, key: str, request: Request, progress: Progress | None, background: bool
    ) -> Trace:
        found = self._get(key)
        if found is None:
            found = self._inner.trace(request, progress, background)
            self._put(key, found)
        return found

    @contextmanager
    def _alone(self, key: str, progress: Progress | None) -> Iterator[None]:
        """Hold back equal requests while one runs; the lock is dropped with its last user.

        Who is held back is told so again and again: a page that was left meanwhile ends its thread
        when it is told.
        """
        with self._lock:
            lock, users = self._running.get(key, (threading.Lock(), 0))
            self._running[key] = lock, users + 1
        try:
            while not lock.acquire(timeout=TELL_SECONDS):
                if progress:
                    progress(0.0, "Waiting: the same is being run already")
            try:
                yield
            finally:
                lock.release()
        finally:
            with self._lock:
                lock, users = self._running.pop(key)
                if users > 1:
                    self._running[key] = lock, users - 1

    def _get(self, key: str) -> Trace | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _put(self, key: str, trace: Trace) -> None:
        if trace.nbytes > self._max_bytes:
            return
        with self._lock:
            self._kept[key] = trace
            while len(self._kept) > self._max_entries or self._size() > self._max_bytes:
                self._kept.popitem(last=False)

    def _size(self) -> int:
        return sum(trace.nbytes for trace in self._kept.values())

    def forget(self) -> None:
        """Let go of all that is remembered, where the memory is needed; what is asked again is run
        again.
        """
        with self._lock:
            self._kept.clear()


def key_of(request: Request, card: Card | None) -> str:
    """What tells a trace from others: SHA-256 of the request, with its picture's pixels, and of the
    model's card.
    """
    picture = request.picture and request.picture.digest
    content = [
        asdict(replace(request, picture=None)),
        picture,
        None if card is None else card.identity,
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
