"""Checkpoint folders: model.safetensors (half precision), tokenizer.model, card.json.

The card has the SHA-256 of the other two. A file is read once; what is loaded are the bytes whose
digest was compared. An encoder that several models share is a file of its own, beside the folders:
shared/NAME.safetensors. The header of model.safetensors names it, and the card has its SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from areaviz.data.tokenizer import Tokenizer
from areaviz.models.grid_encoder import GridEncoder
from areaviz.trace.errors import BackendError
from areaviz.trace.files import write_whole

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.model"
SHARED = "shared"
"""The folder of shared encoders, beside those of models, and the entry of a header that names one.
"""


def digests_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a checkpoint, for its card; raises OSError."""
    found = {}
    for path in (folder / WEIGHTS, folder / TOKENIZER):
        # A model that writes no text has no tokenizer.
        if path.exists():
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    for name in shared_files(folder):
        found[name] = hashlib.sha256((folder.parent / name).read_bytes()).hexdigest()
    return found


def shared_files(folder: Path) -> list[str]:
    """The files beside its folder that a checkpoint is loaded from, such as "shared/x.safetensors".

    Raises:
        OSError: model.safetensors cannot be read.
    """
    if not (folder / WEIGHTS).exists():
        return []
    try:
        with safe_open(folder / WEIGHTS, "pt") as header:
            named = (header.metadata() or {}).get(SHARED)
    except SafetensorError:
        # Whoever loads it says that it is damaged.
        return []
    return [named] if named else []


def save_weights(network: nn.Module, folder: Path) -> None:
    """Write the weights in half precision, those of a shared encoder beside the folder."""
    own, metadata = {}, {}
    weights = {name: _halved(value) for name, value in network.state_dict().items()}
    start, name = _shared_part(network)
    for key, value in weights.items():
        if not (name and key.startswith(start)):
            own[key] = value
    if name:
        encoder = {key.removeprefix(start): weights[key] for key in weights.keys() - own.keys()}
        path = folder.parent / name
        path.parent.mkdir(exist_ok=True)
        write_whole(path, safetensors.torch.save(encoder))
        metadata = {SHARED: name}
    write_whole(folder / WEIGHTS, safetensors.torch.save(own, metadata or None))


def _halved(value: Tensor) -> Tensor:
    return value.detach().half().contiguous().cpu()


def _shared_part(network: nn.Module) -> tuple[str, str]:
    """How the names of a shared encoder's weights begin in a network, and its file; "" for none."""
    for name, module in network.named_modules():
        if isinstance(module, GridEncoder) and module.shared:
            return f"{name}.", f"{SHARED}/{module.shared}.safetensors"
    return "", ""


def load_weights(network: nn.Module, folder: Path, files: Mapping[str, str]) -> None:
    """Read weights into `network`, in the type its parameters have. files: as in the card.

    Raises:
        BackendError: when a file is missing, damaged, another than the card's, or belongs to
            another network.
    """
    content = _checked(folder, WEIGHTS, files)
    start, name = _shared_part(network)
    shared = _checked(folder, name, files) if name else b""
    try:
        weights: dict[str, Tensor] = safetensors.torch.load(content)
        if name:
            encoder = safetensors.torch.load(shared)
            weights |= {f"{start}{key}": value for key, value in encoder.items()}
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
        content = _path(folder, name).read_bytes()
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
    what = "is damaged" if _path(folder, name).exists() else "is missing"
    return BackendError(
        f"The checkpoint {folder.name} cannot be loaded: {name} {what}; restore it from the"
        " repository."
    )


def _path(folder: Path, name: str) -> Path:
    """Where a file that a card names lies: in the folder, or beside it where models share it."""
    return (folder.parent if name.startswith(f"{SHARED}/") else folder) / name
