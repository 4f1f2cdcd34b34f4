"""Checkpoint folders: model.safetensors (half precision), tokenizer.model, card.json.

The card has the SHA-256 of the other two. A file is read once; what is loaded are the bytes whose
digest was compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from areaviz.data.tokenizer import Tokenizer
from areaviz.trace.errors import BackendError
from areaviz.trace.files import write_whole

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.model"


def digests_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a checkpoint, for its card; raises OSError."""
    found = {}
    for path in (folder / WEIGHTS, folder / TOKENIZER):
        # A model that writes no text has no tokenizer.
        if path.exists():
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def save_weights(network: nn.Module, folder: Path) -> None:
    """Write the weights of a network in half precision."""
    half = {}
    for name, value in network.state_dict().items():
        half[name] = value.detach().half().contiguous().cpu()
    write_whole(folder / WEIGHTS, safetensors.torch.save(half))


def load_weights(network: nn.Module, folder: Path, files: Mapping[str, str]) -> None:
    """Read weights into `network`, in the type its parameters have. files: as in the card.

    Raises:
        BackendError: when the file is missing, damaged, another than the card's, or belongs to
            another network.
    """
    content = _checked(folder, WEIGHTS, files)
    try:
        weights: dict[str, Tensor] = safetensors.torch.load(content)
        network.load_state_dict(weights)
    except (SafetensorError, RuntimeError) as error:
        raise damaged(folder, WEIGHTS) from error
    # They can be read and still be of no use, such as those of a run that went astray.
    if not all(bool(torch.isfinite(value).all()) for value in network.state_dict().values()):
        raise damaged(folder, WEIGHTS)


def load_tokenizer(folder: Path, files: Mapping[str, str]) -> Tokenizer:
    """Read the tokenizer; raises as `load_weights`. files: as in the card."""
    content = _checked(folder, TOKENIZER, files)
    try:
        return Tokenizer(content)
    except RuntimeError as error:
        raise damaged(folder, TOKENIZER) from error


def _checked(folder: Path, name: str, files: Mapping[str, str]) -> bytes:
    """The bytes of a file, compared with the card's digest; of a card without any, as they are."""
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise damaged(folder, name) from error
    if files and hashlib.sha256(content).hexdigest() != files.get(name):
        raise BackendError(
            f"The checkpoint {folder.name} cannot be loaded: {name} is not the file that its card"
            " names (another SHA-256), so it was changed or damaged; restore it from the"
            " repository."
        )
    return content


def damaged(folder: Path, name: str) -> BackendError:
    """The sentence for a file that cannot be used."""
    what = "is damaged" if (folder / name).exists() else "is missing"
    return BackendError(
        f"The checkpoint {folder.name} cannot be loaded: {name} {what}; restore it from the"
        " repository."
    )
