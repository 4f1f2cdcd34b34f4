"""Stored traces of frequent questions, so that pages show a result without running a model.

The file name is the key of the request and of the model's weights. A retrained model therefore
never answers with an older trace. New results on its card do not change the name.
`RecordingBackend` writes such a folder, and `StoredBackend` reads it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path

from areaviz.backend.base import OWN_WORK, Backend, Caller, Wrapper
from areaviz.backend.cached import make_cache_key
from areaviz.cards.card import Card
from areaviz.trace import file
from areaviz.trace.derived import add_best, remove_best
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

log = logging.getLogger(__name__)
# Number of hexadecimal digits of the key in a file name.
DIGITS = 16


class StoredBackend(Wrapper):
    """A backend that answers from a folder if possible.

    Args:
        inner: runs every other request.
        folder: the traces. It may be missing.
    """

    def __init__(self, inner: Backend, folder: Path) -> None:
        super().__init__(inner)
        self._folder = folder

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return the stored trace or a new one, and pass on exceptions of the wrapped backend."""
        path = find_path(self._folder, request, self.models())
        if path.is_file():
            try:
                return self._with_best(file.load(path))
            except InputError as error:
                log.warning("The stored trace %s is skipped: %s", path.name, error)
        return self._inner.trace(request, progress, caller)

    def _with_best(self, trace: Trace) -> Trace:
        card = self.models().get(trace.request.model)
        return trace if card is None else add_best(trace, card.bests)


class RecordingBackend(StoredBackend):
    """A backend that runs every request and stores its trace in the folder.

    Attributes:
        written: the paths, in the order of the requests.
    """

    def __init__(self, inner: Backend, folder: Path) -> None:
        super().__init__(inner, folder)
        self.written: list[Path] = []

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return a new trace, and pass on exceptions of the wrapped backend."""
        trace = self._inner.trace(request, progress, caller)
        path = find_path(self._folder, request, self.models())
        # The card names the heads of the best alignment, and this choice may have changed.
        file.save(remove_best(trace), path, half=True)
        self.written.append(path)
        return trace


def find_path(folder: Path, request: Request, cards: Mapping[str, Card]) -> Path:
    """Return the path of a request's trace."""
    card = cards.get(request.model)
    if card is not None and card.files:
        # The output depends on the weights and on the options of their use.
        used = [dict(card.files), dict(card.config), card.recipe.get("length_limit")]
        if card.length_penalty is not None:
            used.append({"length_penalty": card.length_penalty})
        if card.grammar:
            used.append({"grammar": card.grammar})
        model = hashlib.sha256(json.dumps(used, sort_keys=True).encode()).hexdigest()
        key = f"{make_cache_key(request, None)}{model}"
    else:
        key = make_cache_key(request, card)
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:DIGITS]}.npz"
