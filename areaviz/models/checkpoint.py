"""Checkpoint folders with model.safetensors (half precision), tokenizer.model and card.json.

The card contains the SHA-256 of the other two files. Each file is read once, and the loaded bytes
are those whose digest was compared. What several models share is stored once, next to the folders:

- shared/NAME.safetensors is an encoder. The header of model.safetensors names this file, and the
  card contains its SHA-256.
- shared/tokenizer-DIGEST.model is a tokenizer. The name contains the start of the SHA-256 on the
  card. `share_tokenizers` creates these files.
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
from areaviz.trace.safe_files import write_whole

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.model"
SHARED = "shared"
"""The folder of shared files, next to the model folders. The entry of a header that names one."""
_DIGEST_CHARACTERS = 12
"""The number of characters of a SHA-256 in the name of a shared tokenizer."""


def compute_digests(folder: Path, files: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the SHA-256 of each file of a checkpoint, for its card.

    Args:
        folder: the checkpoint's folder.
        files: the digests on the card, if it has any. They name a shared tokenizer.

    Raises:
        OSError: if a file cannot be read.
    """
    found = {}
    for name in (WEIGHTS, TOKENIZER, *list_shared_files(folder)):
        path = find_file(folder, name, files or {})
        # A model that generates no text has no tokenizer.
        if path.exists() or name not in (WEIGHTS, TOKENIZER):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def share_tokenizers(checkpoints: Path) -> list[Path]:
    """Store each tokenizer that several models have once, in the shared folder.

    Returns:
        The shared files that were written.

    Raises:
        OSError: if a file cannot be read, written or deleted.
    """
    folders_by_digest: dict[str, list[Path]] = {}
    for path in sorted(checkpoints.glob(f"*/{TOKENIZER}")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        folders_by_digest.setdefault(digest, []).append(path.parent)
    written = []
    for digest, folders in folders_by_digest.items():
        shared = _get_shared_tokenizer(checkpoints, digest)
        if len(folders) == 1 and not shared.exists():
            continue
        if not shared.exists():
            shared.parent.mkdir(exist_ok=True)
            write_whole(shared, (folders[0] / TOKENIZER).read_bytes())
            written.append(shared)
        for folder in folders:
            (folder / TOKENIZER).unlink()
    return written


def find_file(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """Return the path of a file that a card names.

    Args:
        folder: the checkpoint's folder.
        name: the key of the file in `files`, such as "model.safetensors".
        files: the digests on the card.

    Returns:
        A path in `folder`, or one in the shared folder if several models use the file.
    """
    if name.startswith(f"{SHARED}/"):
        return folder.parent / name
    own = folder / name
    if name == TOKENIZER and name in files and not own.exists():
        shared = _get_shared_tokenizer(folder.parent, files[name])
        return shared if shared.exists() else own
    return own


def _get_shared_tokenizer(checkpoints: Path, digest: str) -> Path:
    return checkpoints / SHARED / f"tokenizer-{digest[:_DIGEST_CHARACTERS]}.model"


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
        # A damaged file is reported later, when it is loaded.
        return []
    return [named] if named else []


def save_weights(network: nn.Module, folder: Path) -> None:
    """Write the weights in half precision, and those of a shared encoder next to the folder."""
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
        raise make_damage_error(folder, WEIGHTS, files) from error
    # Readable weights may still be useless, for example after a training run that diverged.
    if not all(bool(torch.isfinite(value).all()) for value in network.state_dict().values()):
        raise make_damage_error(folder, WEIGHTS, files)


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
        raise make_damage_error(folder, TOKENIZER, files) from error


def _read_checked(folder: Path, name: str, files: Mapping[str, str]) -> bytes:
    """Return the bytes of a file after comparing their digest, if the card has digests."""
    try:
        content = find_file(folder, name, files).read_bytes()
    except OSError as error:
        raise make_damage_error(folder, name, files) from error
    if files and hashlib.sha256(content).hexdigest() != files.get(name):
        raise BackendError(
            f"The checkpoint {folder.name} cannot be loaded: {name} does not have the SHA-256"
            " on its card, so it was changed or damaged. Restore it from the repository."
        )
    return content


def make_damage_error(folder: Path, name: str, files: Mapping[str, str]) -> BackendError:
    """Return the error for a file that cannot be used."""
    what = "is damaged" if find_file(folder, name, files).exists() else "is missing"
    return BackendError(
        f"The checkpoint {folder.name} cannot be loaded: {name} {what}. Restore it from the"
        " repository."
    )
