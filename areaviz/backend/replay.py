"""A backend that answers with stored traces, without torch, for demonstrations and page tests."""

from __future__ import annotations

from pathlib import Path

from areaviz.backend.base import OWN_WORK, Caller
from areaviz.cards.card import Card, read_card
from areaviz.trace import file
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request


class ReplayBackend:
    """A backend for the traces `*.npz` in a folder, with the models' cards in `cards/*.json`.

    A request is answered if a stored trace belongs to an equal request. `problems` lists files that
    cannot be read and traces whose model has no card.
    """

    def __init__(self, folder: Path) -> None:
        self._problems: list[str] = []
        self._cards: dict[str, Card] = {}
        self._paths: dict[Request, Path] = {}
        for path in sorted(folder.glob("cards/*.json")):
            self._add_card(path)
        for path in sorted(folder.glob("*.npz")):
            self._add_trace(path)
        if not self._paths:
            self._problems.append(
                f"The folder {folder.name} holds no stored trace that can be read."
            )

    def models(self) -> dict[str, Card]:
        """Return the models that have a stored trace, by name."""
        used = {request.model for request in self._paths}
        return {name: card for name, card in self._cards.items() if name in used}

    def problems(self) -> tuple[str, ...]:
        """Return one message for each file that was left out."""
        return tuple(self._problems)

    def device(self) -> str:
        """Return a text for users that says that no model runs here."""
        return "stored traces"

    def requests(self) -> tuple[Request, ...]:
        """Return the requests with a stored trace."""
        return tuple(self._paths)

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Return the stored trace of an equal request.

        Raises:
            InputError: if there is no such trace.
            BackendError: if its file can no longer be read.
        """
        if request not in self._paths:
            raise InputError(
                "There is no stored result for this input. Choose an example, or start the"
                " app with its models."
            )
        if progress:
            progress(0.5, "Reading the stored trace")
        try:
            return file.load(self._paths[request])
        except InputError as error:
            raise BackendError(
                f"The stored trace {self._paths[request].name} can no longer be read."
            ) from error

    def _add_card(self, path: Path) -> None:
        try:
            card = read_card(path)
        except BackendError as error:
            self._problems.append(str(error))
        else:
            self._cards[card.name] = card

    def _add_trace(self, path: Path) -> None:
        try:
            request = file.load(path).request
        except InputError as error:
            self._problems.append(f"The stored trace {path.name} is skipped: {error}")
            return
        if request.model in self._cards:
            self._paths[request] = path
        else:
            self._problems.append(
                f"The stored trace {path.name} is skipped: there is no card for its model."
            )
