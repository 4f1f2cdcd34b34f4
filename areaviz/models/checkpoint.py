"""Checkpoint folders: model.safetensors (half precision), tokenizer.model, card.json."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from areaviz.data.tokenizer import Tokenizer
from areaviz.trace.errors import BackendError

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.model"


def save_weights(network: nn.Module, folder: Path) -> None:
    """Write the weights in half precision."""
    half = {name: value.detach().half().contiguous().cpu() for name, value in network.state_dict().items()}
    save_file(half, folder / WEIGHTS)


def load_weights(network: nn.Module, folder: Path) -> None:
    """Read weights into `network`, in the type its parameters have.

    Raises:
        BackendError: when the file is missing, damaged or belongs to another network.
    """
    try:
        weights: dict[str, Tensor] = load_file(folder / WEIGHTS)
        network.load_state_dict(weights)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise damaged(folder, WEIGHTS) from error
    if not all(bool(torch.isfinite(value).all()) for value in network.state_dict().values()):
        raise damaged(folder, WEIGHTS)


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer; BackendError when it is missing or damaged."""
    try:
        return Tokenizer.load(folder / TOKENIZER)
    except (OSError, RuntimeError) as error:
        raise damaged(folder, TOKENIZER) from error


def damaged(folder: Path, name: str) -> BackendError:
    """The sentence for a file that cannot be used."""
    what = "is damaged" if (folder / name).exists() else "is missing"
    return BackendError(
        f"The checkpoint {folder.name} cannot be loaded: {name} {what}; restore it from the repository."
    )
