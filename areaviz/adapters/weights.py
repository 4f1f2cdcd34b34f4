"""The weights of a folder before any is loaded: which files, how many numbers, how many bytes.

Only the heads of the files are read, by the library that wrote them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch

from areaviz.trace.errors import InputError

INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
# What a pass wants beside the weights, as a share of them.
_BESIDE = 0.2


class NoRoom(InputError):
    """The memory that is free cannot hold a model."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What a folder's weights amount to."""

    parameters: int
    nbytes: int
    # When they were last written, in seconds since 1970.
    written: float

    @property
    def needed(self) -> int:
        """Bytes of memory for the model and a pass."""
        return round(self.nbytes * (1 + _BESIDE))


def weights_of(folder: Path) -> Weights:
    """Count a folder's weights by the heads of its files.

    Raises:
        InputError: the folder names a file that is missing, or a file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    parameters, nbytes, written = 0, 0, 0.0
    for path in weight_files(folder):
        about = path.stat()
        nbytes, written = nbytes + about.st_size, max(written, about.st_mtime)
        try:
            with safe_open(path, framework="np") as file:
                for name in file.keys():  # noqa: SIM118 - it is no mapping
                    parameters += prod(file.get_slice(name).get_shape())
        except (SafetensorError, OSError) as error:
            raise InputError(
                f"The weights {path.name} of {folder.name} are damaged ({error}); fetch the file"
                " again."
            ) from error
    return Weights(parameters, nbytes, written)


def weight_files(folder: Path) -> Sequence[Path]:
    """The files that a model is loaded from.

    Raises:
        InputError: the index is damaged, or names what is no safetensors or not there.
    """
    index, whole = folder / INDEX, folder / WHOLE
    if not index.is_file():
        return [whole] if whole.is_file() else sorted(folder.glob("*.safetensors"))
    try:
        parts = {str(part) for part in json.loads(index.read_bytes())["weight_map"].values()}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"The index {INDEX} of {folder.name} is damaged; fetch the file again."
        ) from error
    if not all(part.endswith(".safetensors") for part in parts):
        raise InputError(
            f"The index of {folder.name} names weights that are no safetensors; save the model"
            " anew."
        )
    # A name alone: nothing outside of the folder is opened.
    missing = sorted(part for part in parts if not (folder / Path(part).name).is_file())
    if missing:
        raise InputError(
            f"The folder {folder.name} lacks {len(missing)} of {len(parts)} files of weights,"
            f" such as {missing[0]}; fetch them."
        )
    return [folder / Path(part).name for part in sorted(parts)]


def check_room(name: str, needed: int, device: torch.device) -> None:
    """Refuse, before anything is loaded, a model that the memory cannot hold.

    Raises:
        NoRoom: it needs more than is free.
    """
    free = free_bytes(device)
    if needed > free:
        raise NoRoom(
            f"The model {name} needs {in_words(needed)} of memory but {in_words(free)} are free;"
            " end other programs, or take a smaller model."
        )


def free_bytes(device: torch.device) -> int:
    """Bytes of memory that can still be had where models run."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        # Other systems do not say what could be freed, so all there is has to do.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = dict(line.split(":", 1) for line in lines)
    return int(found["MemAvailable"].split()[0]) * 1024


def in_words(nbytes: int) -> str:
    """Bytes for people, such as "1.3 GB"."""
    return f"{nbytes / 1e9:,.1f} GB" if nbytes >= 1e9 else f"{nbytes / 1e6:,.1f} MB"
