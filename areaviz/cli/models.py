"""The model that a command names: one of the checkpoints, or somebody else's in a folder.

A model's card tells enough to begin with. What runs it needs torch, which takes most of the time of
a start, so it is imported where a model is opened, maybe in another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from areaviz.cards.card import Card, read_card
from areaviz.data.release_models import known_model
from areaviz.trace.record import Run, RunTogether

if TYPE_CHECKING:
    from areaviz.backend.local import LocalBackend


@dataclass(frozen=True, slots=True)
class Named:
    """A model that can be opened."""

    # As in requests.
    name: str
    card: Card
    # The folder of our own models, and the device.
    checkpoints: Path
    device: str
    # Of a model of others, its folder or its name on the hub.
    folders: tuple[str, ...] = ()

    def open(self) -> LocalBackend:
        """What runs it in this process."""
        return open_backend(self.checkpoints, self.device, self.folders)


def named(model: str, checkpoints: Path, device: str) -> Named:
    """Find the model that is named.

    Args:
        model: a model of the checkpoints folder, the folder of a `transformers` model, or its name
            on the hub, which has a stroke in it.
        checkpoints: the folder of our own models.
        device: as `LocalBackend`.

    Raises:
        InputError: there is no such model, or the folder holds none that can be used.
    """
    place = checkpoints / model / "card.json"
    if place.is_file():
        return Named(model, read_card(place), checkpoints, device)
    folders: tuple[str, ...] = ()
    if Path(model).is_dir():
        folders = (str(Path(model).resolve()),)
    elif "/" in model:
        folders = (model,)
    backend = open_backend(checkpoints, device, folders)
    cards = backend.models()
    name = known_model(backend.name_of(folders[0]) if folders else model, cards)
    return Named(name, cards[name], checkpoints, device, folders)


def open_backend(checkpoints: Path, device: str, folders: Sequence[str]) -> LocalBackend:
    """What runs our models and those of these folders, in this process."""
    from areaviz.backend.local import LocalBackend

    return LocalBackend(checkpoints.resolve(), device, folders)


def open_run(checkpoints: Path, device: str, folders: Sequence[str]) -> Run:
    """What runs a request; for a process that no backend can be sent to."""
    return open_backend(checkpoints, device, folders).trace


def open_run_together(checkpoints: Path, device: str, folders: Sequence[str]) -> RunTogether:
    """What runs requests together; for a process that answers nobody else."""
    return open_backend(checkpoints, device, folders).trace_together
