"""The model that a command names: one of the checkpoints, or somebody else's in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from areaviz.backend.local import LocalBackend


@dataclass(frozen=True, slots=True)
class Named:
    """Models in this process, and which of them is meant."""

    backend: LocalBackend
    # As in requests.
    name: str
    # Of a model of others, its folder or its name on the hub.
    folders: tuple[str, ...] = ()


def named(model: str, checkpoints: Path, device: str) -> Named:
    """Open the models, with the one that is named.

    Args:
        model: a model of the checkpoints folder, the folder of a `transformers` model, or its name
            on the hub, which has a stroke in it.
        checkpoints: the folder of our own models.
        device: as `LocalBackend`.

    Raises:
        InputError: the folder holds no model that can be used.
    """
    is_ours = (checkpoints / model / "card.json").is_file()
    if is_ours or not (Path(model).is_dir() or "/" in model):
        return Named(LocalBackend(checkpoints, device), model)
    folder = str(Path(model).resolve()) if Path(model).is_dir() else model
    backend = LocalBackend(checkpoints, device, (folder,))
    return Named(backend, backend.name_of(folder), (folder,))
