"""A backend that caches traces in memory."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from weakref import WeakValueDictionary

from areaviz.backend.base import OWN_WORK, Backend, Caller, Wrapper
from areaviz.cards.card import Card
from areaviz.trace.derived import Logits
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

MAX_BYTES, MAX_LOGITS_BYTES = 256 * 2**20, 32 * 2**20

# Interval of progress calls while a caller waits. Such a call ends the thread of a user who has
# left the page.
PROGRESS_SECONDS = 0.5


class CachedBackend(Wrapper):
    """A backend that wraps another one and caches the most recently used traces.

    The key is the SHA-256 of the request and of the model's card, which names the code version, so
    a retrained model never answers with an old trace. The least recently used trace is dropped
    first. Equal requests that arrive together run once. Failures are not cached.

    Args:
        inner: runs the requests that are not cached.
        max_entries: largest number of cached traces, at least 1.
        max_bytes: largest total size of the cached weights.
    """

    def __init__(self, inner: Backend, max_entries: int = 32, max_bytes: int = MAX_BYTES) -> None:
        if max_entries < 1:
            raise ValueError(f"A cache needs room for at least one entry, got {max_entries}.")
        super().__init__(inner)
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        # Logit terms by the key of the trace, the site and the layer.
        self._logits: OrderedDict[tuple[str, str, int], Logits] = OrderedDict()
        self._lock = threading.Lock()
        # A lock for each running key. The last caller that holds or awaits a lock removes it.
        self._running: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return the cached trace or a new one, and pass on exceptions of the wrapped backend.

        A request with a given output always runs, because it takes only one pass, and faithfulness
        metrics make many such requests. A user does not wait for an equal request of an analysis,
        because that request may be waiting for other users.
        """
        if request.target is not None:
            return self._inner.trace(request, progress, caller)
        key = make_cache_key(request, self.models().get(request.model))
        if caller.in_background:
            return self._remembered(key, request, progress, caller)
        with self._alone(key, progress):
            return self._remembered(key, request, progress, caller)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the cached logit terms or new ones, see `Explaining`."""
        key = make_cache_key(request, self.models().get(request.model)), site, layer
        with self._lock:
            found = self._logits.get(key)
        if found is None:
            found = super().logits(request, site, layer, progress, caller)
            with self._lock:
                self._logits[key] = found
                while sum(one.nbytes for one in self._logits.values()) > MAX_LOGITS_BYTES:
                    self._logits.popitem(last=False)
        return found

    def forget(self) -> None:
        """Drop all cached traces to free memory."""
        with self._lock:
            self._traces.clear()
            self._logits.clear()

    def _remembered(
        self, key: str, request: Request, progress: Progress | None, caller: Caller
    ) -> Trace:
        with self._lock:
            trace = self._traces.get(key)
            if trace is not None:
                self._traces.move_to_end(key)
                return trace
        trace = self._inner.trace(request, progress, caller)
        self._remember(key, trace)
        return trace

    def _remember(self, key: str, trace: Trace) -> None:
        # A trace above the limit would evict all other traces and then itself, so it is not cached.
        if trace.nbytes > self._max_bytes:
            return
        with self._lock:
            self._traces[key] = trace
            size = sum(one.nbytes for one in self._traces.values())
            while len(self._traces) > self._max_entries or size > self._max_bytes:
                _, oldest = self._traces.popitem(last=False)
                size -= oldest.nbytes

    @contextmanager
    def _alone(self, key: str, progress: Progress | None) -> Iterator[None]:
        """Block equal requests while one of them runs."""
        with self._lock:
            running = self._running.setdefault(key, threading.Lock())
        while not running.acquire(timeout=PROGRESS_SECONDS):
            if progress:
                progress(0.0, "Waiting: another reader asked the same question first")
        try:
            yield
        finally:
            running.release()


def make_cache_key(request: Request, card: Card | None) -> str:
    """Return the cache key of a trace.

    It is the SHA-256 of the request, its input data and the model's card.
    """
    entries = asdict(request.without_media())
    # The keys of stored traces must not change. Fields that are newer than these traces are left
    # out if they have their defaults.
    del entries["sound"], entries["clip"]
    if not request.attribution:
        del entries["attribution"]
    picture = request.picture
    content = [entries, picture and picture.digest, card and card.identity]
    content += [one.digest for name, one in request.media.items() if name != "picture"]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
