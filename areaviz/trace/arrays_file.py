"""An npz file of raw attention arrays, as NumPy saves it, as a trace; docs/your_models.md says what it holds.

Files come from strangers: every shape and type is read from a header and checked before its array is unpacked, and
arrays of Python objects, which NumPy would unpickle, are refused by their header.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace import codec
from areaviz.trace.archive import check_archive, unpacked
from areaviz.trace.arrays import AREA_SIZE, MAX_ITEMS, MAX_LABEL, check_pixels, check_shape
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.trace.record import Trace

NAMES = ("weights", "memory", "queries", "shape", "picture")
_REFUSAL = "The file is no npz archive; save arrays with numpy.savez, or choose a trace that this app has saved."
_HEADER_BYTES = 10_000 + 12
"""Of an array's header with its marks; NumPy refuses longer ones too."""


@dataclass(frozen=True, slots=True)
class _Header:
    """What an entry says of itself: its shape, type and order, and where its bytes begin and end."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool
    start: int


def holds_trace(content: bytes) -> bool:
    """Whether a file is a stored trace, not raw arrays; InputError where it is no archive."""
    with _opened(content) as archive:
        return codec.DOCUMENT in archive.namelist()


def from_npz(content: bytes, area_size: int = AREA_SIZE, name: str = "your-arrays") -> Trace:
    """The trace in an npz file: of its arrays, or a trace that this app has saved.

    Raises:
        InputError: it is no such file, an array is missing, too large, holds objects or does not fit the others.
    """
    if holds_trace(content):
        return codec.from_bytes(content)
    try:
        arrays = _arrays(content, area_size)
    except InputError:
        raise
    except Exception as error:  # a stranger's file: whatever the parsers under this raise means that it is damaged
        raise InputError("The file is damaged or cut short; save its arrays anew with numpy.savez.") from error
    shape = arrays.get("shape")
    return Trace.from_arrays(
        arrays["weights"],
        memory=_labels(arrays.get("memory")),
        queries=_labels(arrays.get("queries")),
        shape=None if shape is None else (int(shape[0]), int(shape[1])),
        picture=arrays.get("picture"),
        area_size=area_size,
        name=name,
    )


def _opened(content: bytes) -> zipfile.ZipFile:
    file = io.BytesIO(content)
    try:
        check_archive(file, _REFUSAL)
        return zipfile.ZipFile(file)
    except InputError:
        raise
    except Exception as error:
        raise InputError("The file is damaged or cut short; save its arrays anew with numpy.savez.") from error


def _arrays(content: bytes, area_size: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays that are looked at, by name, unpacked after all of them were checked."""
    with _opened(content) as archive:
        entries = _named(archive)
        headers = {name: _header(name, unpacked(archive, entry, _HEADER_BYTES)) for name, entry in entries.items()}
        shape = None
        if "shape" in entries:
            _check_pair(headers["shape"])
            rows, columns = _array(unpacked(archive, entries["shape"]), headers["shape"]).tolist()
            shape = (rows, columns)
        _check(headers, shape, area_size)
        return {name: _array(unpacked(archive, entry), headers[name]) for name, entry in entries.items()}


def _named(archive: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """The entries that are looked at; a file with one array may call it as it likes."""
    found = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    if "weights" not in found and len(found) == 1:
        found = {"weights": next(iter(found.values()))}
    if "weights" not in found:
        names = ", ".join(shown(name) for name in list(found)[:5]) or "nothing"
        raise InputError(f'The file has no array called "weights"; it has {names}. Save it as weights=... .')
    return {name: found[name] for name in NAMES if name in found}


def _header(name: str, begin: bytes) -> _Header:
    file = io.BytesIO(begin)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise InputError(f'The array "{name}" is of an unknown npy version; save it anew with numpy.savez.')
    shape, by_columns, dtype = readers[version](file)
    if dtype.hasobject:
        raise InputError(
            f'The array "{name}" holds Python objects, which could run code when they are opened; '
            "save texts as numpy.array([...], dtype=str) and numbers as float32."
        )
    return _Header(tuple(map(int, shape)), dtype, by_columns, file.tell())


def _check(headers: Mapping[str, _Header], shape: tuple[int, int] | None, area_size: int) -> None:
    weights = headers["weights"]
    check_shape(weights.shape, weights.dtype, shape, area_size)
    for name in ("memory", "queries"):
        if name in headers:
            _check_labels(name, headers[name])
    if "picture" in headers:
        check_pixels(headers["picture"].shape, headers["picture"].dtype)


def _check_labels(name: str, header: _Header) -> None:
    if header.dtype.kind != "U" or len(header.shape) != 1:
        raise InputError(f'The array "{name}" must be texts in one row; save numpy.array([...], dtype=str).')
    if header.shape[0] > MAX_ITEMS or header.dtype.itemsize > 4 * MAX_LABEL:
        raise InputError(
            f'The array "{name}" has {header.shape[0]:,} texts of up to {header.dtype.itemsize // 4:,} characters but '
            f"at most {MAX_ITEMS:,} of {MAX_LABEL} are possible; shorten it."
        )


def _check_pair(header: _Header) -> None:
    if header.shape != (2,) or header.dtype.kind not in "iu":
        raise InputError('The array "shape" must be two whole numbers, the rows and columns of the cells.')


def _array(entry: bytes, header: _Header) -> npt.NDArray[Any]:
    """An array from the bytes behind its header, which must be as many as it says."""
    if prod(header.shape) * header.dtype.itemsize != len(entry) - header.start:
        raise ValueError("an array has other bytes than it says")
    flat = np.frombuffer(entry, header.dtype, offset=header.start)
    return flat.reshape(header.shape, order="F" if header.by_columns else "C")


def _labels(texts: npt.NDArray[Any] | None) -> list[str] | None:
    return None if texts is None else [str(text) for text in texts.tolist()]
