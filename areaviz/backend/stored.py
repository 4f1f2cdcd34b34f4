"""Traces on disk for what is asked most: pages open with them at once, without running a model.

A folder holds files named by the key of their request and of the model's weights, so a model that
was trained again never answers with what an older one did, and new figures on its card change
nothing. `RecordingBackend` writes such a folder,
`StoredBackend` reads it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path

from areaviz.backend.base import OWN_WORK, Backend, Caller, Wrapper
from areaviz.backend.cached import key_of
from areaviz.cards.card import Card
from areaviz.trace import codec
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

log = logging.getLogger(__name__)
DIGITS = 16
"""Of the key that stand in a file's name."""


class StoredBackend(Wrapper):
    """Wraps a backend, and answers from a folder what lies there.

    Args:
        inner: what runs every other request.
        folder: the traces; it may be missing.
    """

    def __init__(self, inner: Backend, folder: Path) -> None:
        super().__init__(inner)
        self._folder = folder

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """The stored trace, or a new one; raises what the wrapped backend raises."""
        path = path_of(self._folder, request, self.models())
        if path.is_file():
            try:
                return codec.load(path)
            except InputError as error:
                log.warning("The stored trace %s is passed over: %s", path.name, error)
        return self._inner.trace(request, progress, caller)


class RecordingBackend(StoredBackend):
    """Runs every request, and stores its trace in the folder.

    `written` has the paths, in the order in which they were asked for.
    """

    def __init__(self, inner: Backend, folder: Path) -> None:
        super().__init__(inner, folder)
        self.written: list[Path] = []

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """A new trace; raises what the wrapped backend raises."""
        trace = self._inner.trace(request, progress, caller)
        path = path_of(self._folder, request, self.models())
        codec.save(trace, path, half=True)
        self.written.append(path)
        return trace


def path_of(folder: Path, request: Request, cards: Mapping[str, Card]) -> Path:
    """Where the trace of a request lies."""
    card = cards.get(request.model)
    if card is not None and card.files:
        # What the output depends on: the weights, and how they are used.
        used = [dict(card.files), dict(card.config), card.recipe.get("length_limit")]
        if card.length_penalty is not None:
            used.append({"length_penalty": card.length_penalty})
        model = hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()
        key = f"{key_of(request, None)}{model}"
    else:
        key = key_of(request, card)
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:DIGITS]}.npz"
