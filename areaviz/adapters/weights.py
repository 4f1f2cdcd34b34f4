"""The weights of a folder before loading: their files, their number and their size in bytes.

Only the headers of the files are read, with the safetensors library.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import torch

from areaviz.trace.errors import InputError

INDEX = "model.safetensors.index.json"
SINGLE_FILE = "model.safetensors"
# Types of stored weights by their name in safetensors, and bytes per number of the types for which
# sizes are reported.
_STORED = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_BYTES = {"float32": 4, "bfloat16": 2}
# Additional memory of a run, as a share of the weights.
_BESIDE = 0.2


class NoRoom(InputError):
    """The free memory cannot hold a model."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The size of a folder's weights."""

    parameters: int
    nbytes: int
    # Time of the last write, in seconds since 1970.
    written: float
    # Type of most of the numbers, such as "float32".
    kind: str

    @property
    def needed(self) -> int:
        """Bytes of memory for the model and a pass."""
        return round(self.nbytes * (1 + _BESIDE))

    def count_needed_bytes(self, kind: str) -> int:
        """Return the bytes needed if the model were stored as "float32" or "bfloat16"."""
        return round(self.parameters * _BYTES[kind] * (1 + _BESIDE))

    @property
    def sizes(self) -> str:
        """The needed memory in words, such as "1.2 GB of memory in float32, 0.6 GB in bfloat16"."""
        whole, half = (format_bytes(self.count_needed_bytes(kind)) for kind in _BYTES)
        return f"{whole} of memory in float32, {half} in bfloat16"


def count_weights(folder: Path) -> Weights:
    """Count a folder's weights from the headers of its files.

    Raises:
        InputError: The folder names a file that is missing, or a file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    nbytes, written, kinds = 0, 0.0, Counter[str]()
    for path in weight_files(folder):
        about = path.stat()
        nbytes, written = nbytes + about.st_size, max(written, about.st_mtime)
        try:
            with safe_open(path, framework="np") as file:
                for name in file.keys():  # noqa: SIM118 - it is no mapping
                    part = file.get_slice(name)
                    kinds[part.get_dtype()] += prod(part.get_shape())
        except (SafetensorError, OSError) as error:
            raise InputError(
                f"The weights {path.name} of {folder.name} are damaged ({error}). Fetch the"
                " file again."
            ) from error
    [(kind, _), *_] = kinds.most_common(1) or [("", 0)]
    return Weights(kinds.total(), nbytes, written, _STORED.get(kind, kind))


def weight_files(folder: Path) -> Sequence[Path]:
    """Return the files that a model is loaded from.

    Raises:
        InputError: The index is damaged, or names files that are missing or not safetensors.
    """
    index, whole = folder / INDEX, folder / SINGLE_FILE
    if not index.is_file():
        return [whole] if whole.is_file() else sorted(folder.glob("*.safetensors"))
    try:
        parts = {str(part) for part in json.loads(index.read_bytes())["weight_map"].values()}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"The index {INDEX} of {folder.name} is damaged. Fetch the file again."
        ) from error
    if not all(part.endswith(".safetensors") for part in parts):
        raise InputError(
            f"The index of {folder.name} names weights that are not safetensors. Save the"
            " model again."
        )
    # Only the file name is used, so no file outside the folder is opened.
    missing = sorted(part for part in parts if not (folder / Path(part).name).is_file())
    if missing:
        raise InputError(
            f"The folder {folder.name} lacks {len(missing)} of {len(parts)} files of weights,"
            f" such as {missing[0]}. Fetch them."
        )
    return [folder / Path(part).name for part in sorted(parts)]


def check_room(name: str, weights: Weights, device: torch.device) -> None:
    """Check before loading that memory can hold a model.

    Raises:
        NoRoom: It needs more than is free.
    """
    free = count_free_bytes(device)
    if weights.needed <= free:
        return
    help = "use a smaller model, or end other programs on the machine where it runs"
    if weights.count_needed_bytes("bfloat16") <= min(free, 0.75 * weights.needed):
        help = (
            f"In bfloat16 it needs {format_bytes(weights.count_needed_bytes('bfloat16'))}. Save"
            f" it in bfloat16 on a machine with enough memory, or {help}"
        )
    raise NoRoom(
        f"The model {name} needs {format_bytes(weights.needed)} of memory in {weights.kind}, but"
        f" {format_bytes(free)} are free. {help[0].upper()}{help[1:]}."
    )


def count_free_bytes(device: torch.device) -> int:
    """Return the bytes of memory that are available where models run."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        # Other systems do not report reclaimable memory, so the total memory is used.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = dict(line.split(":", 1) for line in lines)
    return int(found["MemAvailable"].split()[0]) * 1024


def format_bytes(nbytes: int) -> str:
    """Return a number of bytes as text, such as "1.3 GB"."""
    return f"{nbytes / 1e9:,.1f} GB" if nbytes >= 1e9 else f"{nbytes / 1e6:,.1f} MB"
