"""Parts of logits as npz archives without pickle, for transfer between app and server."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import numpy.typing as npt

from areaviz.trace.archive import MAX_BYTES, check_archive, check_size, unpack_entry
from areaviz.trace.areas import AreaGrid
from areaviz.trace.codec import add_array, read_array, refuse_damage
from areaviz.trace.logits import Logits

_GRID, _PARTS = "grid", ("item", "start", "end", "shape", "size")


def logits_to_bytes(logits: Logits) -> bytes:
    """Return the parts of a layer's logits as an npz archive.

    Raises:
        InputError: The arrays are too large.
    """
    check_size(logits.nbytes, MAX_BYTES, "What the logits are made of")
    grid = logits.grid
    numbers = (grid.height, grid.width, grid.max_height, grid.max_width, logits.is_shifted)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        add_array(archive, _GRID, np.array(numbers, np.int64))
        for name in _PARTS:
            values = getattr(logits, name)
            if values is not None:
                add_array(archive, name, np.ascontiguousarray(values, np.float32))
    return buffer.getvalue()


def logits_from_bytes(content: bytes) -> Logits:
    """Read the parts of a layer's logits from an npz archive. Their arrays are read-only.

    Raises:
        InputError: The content is not such an archive, or its arrays do not fit together.
    """
    with refuse_damage():
        file = io.BytesIO(content)
        check_archive(file)
        arrays: dict[str, npt.NDArray[np.float32]] = {}
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            check_size(sum(entry.file_size for entry in entries), MAX_BYTES, "The answer")
            for entry in entries:
                arrays[entry.filename.removesuffix(".npy")] = read_array(
                    unpack_entry(archive, entry)
                )
        *sides, is_shifted = arrays.pop(_GRID).tolist()
        found = Logits(AreaGrid(*sides), **arrays, is_shifted=bool(is_shifted))
        _check_shapes(found)
    return found


def _check_shapes(logits: Logits) -> None:
    """Raise ValueError if the arrays differ in heads, queries, items or shapes."""
    grid = logits.grid
    heads, queries, items = logits.item.shape
    shapes = grid.max_height * grid.max_width
    wanted = {
        "item": (heads, queries, grid.items),
        "start": (heads, queries, items),
        "end": (heads, queries, items),
        "shape": (heads, queries, shapes),
        "size": (heads, 1, shapes),
    }
    for name, shape in wanted.items():
        values = getattr(logits, name)
        if values is None:
            continue
        if values.dtype != np.float32 or values.shape != shape:
            raise ValueError(f"{name} has shape {values.shape} where {shape} belongs")
        # Only items may be masked.
        least = -np.inf if name == "item" else np.finfo(np.float32).min
        if np.isnan(values).any() or values.max(initial=0) == np.inf or (values < least).any():
            raise ValueError(f"{name} has numbers that no logit has")
