"""Checkpoint folders with model.safetensors (half precision), tokenizer.model and card.json.

The card contains the SHA-256 of the other two files. Each file is read once, and the loaded bytes
are those whose digest was compared. An encoder that several models share has its own file next to
the folders: shared/NAME.safetensors. The header of model.safetensors names this file, and the card
contains its SHA-256.
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
"""The folder of shared encoders, next to the model folders, and the header entry that names one."""


def compute_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a checkpoint, for its card.

    Raises:
        OSError: if a file cannot be read.
    """
    found = {}
    for path in (folder / WEIGHTS, folder / TOKENIZER):
        # A model that generates no text has no tokenizer.
        if path.exists():
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    for name in list_shared_files(folder):
        found[name] = hashlib.sha256((folder.parent / name).read_bytes()).hexdigest()
    return found


def list_shared_files(folder: Path) -> list[str]:
    """Return the shared files that a checkpoint needs, such as "shared/x.safetensors".

    Raises:
        OSError: if model.safetensors cannot be read.
    """
    if not (folder / WEIGHTS).exists():
        return []
    try:
        with safe_open(folder / WEIGHTS, "pt") as header:
            named = (header.metadata() or {}).get(SHARED)
    except SafetensorError:
        # Loading the file reports the damage.
        return []
    return [named] if named else []


def save_weights(network: nn.Module, folder: Path) -> None:
    """Write the weights in half precision; write a shared encoder's weights next to the folder."""
    own, metadata = {}, {}
    weights = {name: _convert_to_half(value) for name, value in network.state_dict().items()}
    start, name = _find_shared_part(network)
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


def _convert_to_half(value: Tensor) -> Tensor:
    return value.detach().half().contiguous().cpu()


def _find_shared_part(network: nn.Module) -> tuple[str, str]:
    """Return the name prefix of a shared encoder's weights and its file, or two empty strings."""
    for name, module in network.named_modules():
        if isinstance(module, GridEncoder) and module.shared:
            return f"{name}.", f"{SHARED}/{module.shared}.safetensors"
    return "", ""


def load_weights(network: nn.Module, folder: Path, files: Mapping[str, str]) -> None:
    """Load weights into `network`, in the type of its parameters.

    Args:
        network: the network to fill.
        folder: the checkpoint's folder.
        files: the digests on the card.

    Raises:
        BackendError: if a file is missing or damaged, differs from the file on the card, or belongs
            to a different network.
    """
    content = _read_checked(folder, WEIGHTS, files)
    start, name = _find_shared_part(network)
    shared = _read_checked(folder, name, files) if name else b""
    try:
        weights: dict[str, Tensor] = safetensors.torch.load(content)
        if name:
            encoder = safetensors.torch.load(shared)
            weights |= {f"{start}{key}": value for key, value in encoder.items()}
        network.load_state_dict(weights)
    except (SafetensorError, RuntimeError) as error:
        raise make_damage_error(folder, WEIGHTS) from error
    # Weights can be readable and still be useless, for example after a training run that diverged.
    if not all(bool(torch.isfinite(value).all()) for value in network.state_dict().values()):
        raise make_damage_error(folder, WEIGHTS)


def load_tokenizer(folder: Path, files: Mapping[str, str]) -> Tokenizer:
    """Load the tokenizer.

    Args:
        folder: the checkpoint's folder.
        files: the digests on the card.

    Raises:
        BackendError: as for `load_weights`.
    """
    content = _read_checked(folder, TOKENIZER, files)
    try:
        return Tokenizer(content)
    except RuntimeError as error:
        raise make_damage_error(folder, TOKENIZER) from error


def _read_checked(folder: Path, name: str, files: Mapping[str, str]) -> bytes:
    """Return the bytes of a file after comparing their digest, if the card has digests."""
    try:
        content = _get_path(folder, name).read_bytes()
    except OSError as error:
        raise make_damage_error(folder, name) from error
    if files and hashlib.sha256(content).hexdigest() != files.get(name):
        raise BackendError(
            f"The checkpoint {folder.name} cannot be loaded: {name} does not have the SHA-256"
            " on its card, so it was changed or damaged. Restore it from the repository."
        )
    return content


def make_damage_error(folder: Path, name: str) -> BackendError:
    """Return the error for a file that cannot be used."""
    what = "is damaged" if _get_path(folder, name).exists() else "is missing"
    return BackendError(
        f"The checkpoint {folder.name} cannot be loaded: {name} {what}. Restore it from the"
        " repository."
    )


def _get_path(folder: Path, name: str) -> Path:
    """Return the path of a file on the card: in the folder, or next to it if models share it."""
    return (folder.parent if name.startswith(f"{SHARED}/") else folder) / name
