"""The model that a command names: one of the checkpoints, or an external one in a folder.

A command first reads only the card of a model. Running a model needs torch, which takes most of
the startup time. Torch is therefore imported when a model is opened, possibly in another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from areaviz.cards.card import Card, describe_replacement, find_successor, read_card
from areaviz.samples.paths import check_model_name
from areaviz.trace.record import Run, RunTogether

if TYPE_CHECKING:
    from areaviz.backend.local import LocalBackend


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model that can be opened."""

    # Name of the model in requests.
    name: str
    card: Card
    # Folder of the built-in models, and the device.
    checkpoints: Path
    device: str
    # For an external model, its folder or its name on the hub.
    folders: tuple[str, ...] = ()

    def open(self) -> LocalBackend:
        """Open a backend that runs the model in this process."""
        return open_backend(self.checkpoints, self.device, self.folders)


def find_model(model: str, checkpoints: Path, device: str) -> NamedModel:
    """Find a model by its name.

    Args:
        model: a model of the checkpoints folder, the folder of a `transformers` model, or its name
            on the hub, which contains a slash.
        checkpoints: the folder of the built-in models.
        device: as in `LocalBackend`.

    Raises:
        InputError: there is no model of this name, or the folder contains no usable model.
    """
    place = checkpoints / model / "card.json"
    if place.is_file():
        return NamedModel(model, read_card(place), checkpoints, device)
    folders: tuple[str, ...] = ()
    if Path(model).is_dir():
        folders = (str(Path(model).resolve()),)
    elif "/" in model:
        folders = (model,)
    backend = open_backend(checkpoints, device, folders)
    cards = backend.models()
    name = backend.name_of(folders[0]) if folders else find_successor(model, cards)
    if not folders and name != model:
        typer.echo(describe_replacement(model, name), err=True)
    name = check_model_name(name, cards)
    return NamedModel(name, cards[name], checkpoints, device, folders)


def open_backend(checkpoints: Path, device: str, folders: Sequence[str]) -> LocalBackend:
    """Open a backend that runs the built-in models and those of the folders in this process."""
    from areaviz.backend.local import LocalBackend

    return LocalBackend(checkpoints.resolve(), device, folders)


def open_run(checkpoints: Path, device: str, folders: Sequence[str]) -> Run:
    """Open a backend and return its function that runs one request.

    Processes call this themselves, because a backend cannot be sent to another process.
    """
    return open_backend(checkpoints, device, folders).trace


def open_run_together(checkpoints: Path, device: str, folders: Sequence[str]) -> RunTogether:
    """Open a backend and return its function that runs several requests together.

    It is for a process that serves only one user.
    """
    return open_backend(checkpoints, device, folders).trace_together
