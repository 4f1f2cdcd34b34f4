"""What all models share: their interface, the choice of a device, and checkpoint folders.

Read `Model` and `Family` first.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from areaviz.cards.card import Card
from areaviz.models.pictures import GridEncoder
from areaviz.models.tokenizer import Tokenizer
from areaviz.trace.changes import name_kind
from areaviz.trace.derived import Logits
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.trace.safe_files import write_whole

# The interface of models that backends use.


OnStep = Callable[[int, int], None]
"""Callback for progress, called with the number of steps done and the largest possible number."""


class Model(Protocol):
    """A loaded checkpoint. A model family is a class with `load` that returns objects like this."""

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Run requests together and record a trace for each.

        The requests may differ only in text, picture and given output.

        Raises:
            InputError: if this model cannot handle an input.
        """


@runtime_checkable
class ExplainingModel(Protocol):
    """A model that can explain why an area has its weight."""

    def logits(
        self, request: Request, site: str, layer: int, on_step: OnStep | None = None
    ) -> Logits:
        """Return the terms of the logits of a layer (0-based), in the pass that `trace` records.

        Raises:
            InputError: for the reasons of `trace`, or if the layer does not compare queries with
                keys, or compares them only with keys of whole areas.
        """


def check_abilities(request: Request, can: frozenset[str], title: str) -> None:
    """Check that a request asks only for what a model can do.

    Args:
        request: the request.
        can: the model's abilities, see `Card.can`.
        title: the model's name for the message.

    Raises:
        InputError: if the request asks for something else.
    """
    words = {
        "weigh": "reweight areas",
        "gate": "switch heads off",
        "hide": "hide items of its input",
        "share": "sharpen, smooth or window its attention",
    }
    missing = {name_kind(change) for change in request.changes} - can
    if missing:
        able = ", ".join(words[kind] for kind in words if kind in can)
        asked = " and ".join(words[kind] for kind in words if kind in missing)
        other = f"It can only {able}" if able else "Remove the changes or choose another model"
        raise InputError(f"{title} cannot {asked}. {other}.")
    if request.target is not None and "target" not in can:
        raise InputError(f"{title} does not accept a given output. Leave the output out.")
    if request.attribution and "attribution" not in can:
        raise InputError(
            f"{title} does not support attribution by gradients. Leave attribution out."
        )


class Family(Protocol):
    """A class of models, listed in MODELS."""

    def load(
        self, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Model:
        """Load a checkpoint.

        `area_size` replaces the trained largest area. This works only if no parameters depend on
        areas.

        Raises:
            InputError: if the areas of this model cannot be resized.
            BackendError: if a file is missing or damaged.
        """


# The choice of a device for models, and networks prepared to run on it.


Network = TypeVar("Network", bound=nn.Module)
DEVICES = ("auto", "cuda", "mps", "cpu")
THREADS_VARIABLE = "OMP_NUM_THREADS"
"""The usual environment variable for the number of threads. Ray sets it to a replica's share."""


def choose_device(name: str = "auto") -> torch.device:
    """Return the device with this name. "auto" picks CUDA, then MPS, then the CPU.

    Raises:
        InputError: if the name is unknown or this machine does not have the device.
    """
    if name not in DEVICES:
        raise InputError(f'Device "{name}" does not exist. Choose one of {", ".join(DEVICES)}.')
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        return torch.device(next(device for device, found in present.items() if found))
    if not present[name]:
        raise InputError(f'This machine has no device "{name}". Choose "auto" or "cpu".')
    return torch.device(name)


def get_answering_threads() -> int:
    """Return the number of threads for computing one answer: OMP_NUM_THREADS, or 1.

    The models here are small. A second processor makes an answer at most a fifth faster and takes
    twice the processor time. If several users wait for answers, all of them then wait several times
    as long (docs/reliability.md).
    """
    count = os.environ.get(THREADS_VARIABLE, "")
    return max(1, int(count)) if count.isdecimal() else 1


def use_threads(count: int) -> None:
    """Set the number of threads that torch uses in this thread."""
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)


def describe_device(device: torch.device, threads: int | None = None) -> str:
    """Describe a device in words. `threads` is the number of threads, by default torch's."""
    if device.type == "cuda":
        return f"CUDA: {torch.cuda.get_device_name(device)}"
    if device.type == "mps":
        return "MPS (Apple GPU)"
    threads = threads or torch.get_num_threads()
    return f"CPU ({threads} thread{'s' if threads != 1 else ''})"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that a device or the machine ran out of memory."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    # On a CPU, torch raises a plain RuntimeError, so only its message identifies the error.
    return "not enough memory" in str(error)


def free_memory(device: torch.device) -> None:
    """Return memory that the device's allocator has reserved but does not use."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


def prepare_for_inference(network: Network, device: torch.device) -> Network:
    """Move a network to `device`, in evaluation mode and without gradients."""
    return network.to(device).eval().requires_grad_(False)


def build_untrained(build: Callable[[Any], Network], config: Any, device: torch.device) -> Network:
    """Build a network with initial weights, which are equal on each call, as a baseline."""
    torch.manual_seed(0)
    return prepare_for_inference(build(config), device)


# Checkpoint folders with model.safetensors (half precision), tokenizer.model and card.json.
#
# The card contains the SHA-256 of the other two files. Each file is read once, and the loaded bytes
# are those whose digest was compared. What several models share is stored once, next to the
# folders:
#
# - shared/NAME.safetensors is an encoder. The header of model.safetensors names this file, and the
#   card contains its SHA-256.
# - shared/tokenizer-DIGEST.model is a tokenizer. The name contains the start of the SHA-256 on the
#   card. `share_tokenizers` creates these files.


WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.model"
SHARED_TOKENIZERS = "shared"
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
    if name.startswith(f"{SHARED_TOKENIZERS}/"):
        return folder.parent / name
    own = folder / name
    if name == TOKENIZER and name in files and not own.exists():
        shared = _get_shared_tokenizer(folder.parent, files[name])
        return shared if shared.exists() else own
    return own


def _get_shared_tokenizer(checkpoints: Path, digest: str) -> Path:
    return checkpoints / SHARED_TOKENIZERS / f"tokenizer-{digest[:_DIGEST_CHARACTERS]}.model"


def list_shared_files(folder: Path) -> list[str]:
    """Return the shared files that a checkpoint needs, such as "shared/x.safetensors".

    Raises:
        OSError: if model.safetensors cannot be read.
    """
    if not (folder / WEIGHTS).exists():
        return []
    try:
        with safe_open(folder / WEIGHTS, "pt") as header:
            named = (header.metadata() or {}).get(SHARED_TOKENIZERS)
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
        metadata = {SHARED_TOKENIZERS: name}
    write_whole(folder / WEIGHTS, safetensors.torch.save(own, metadata or None))


def _convert_to_half(value: Tensor) -> Tensor:
    return value.detach().half().contiguous().cpu()


def _find_shared_part(network: nn.Module) -> tuple[str, str]:
    """Return the name prefix of a shared encoder's weights and its file, or two empty strings."""
    for name, module in network.named_modules():
        if isinstance(module, GridEncoder) and module.shared:
            return f"{name}.", f"{SHARED_TOKENIZERS}/{module.shared}.safetensors"
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
