"""Traces from npz files of attention arrays, and an example of such a file.

docs/your_models.md specifies the file. Files are untrusted: every shape and type is read from a
header and checked before its array is unpacked. Arrays of Python objects, which NumPy would
unpickle, are refused by their header.

Shapes: L layers, H heads, Q queries, N items, R rows of weights.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from areaviz.trace.archive import (
    Header,
    check_archive,
    check_filled,
    read_array,
    read_header,
    read_rows,
)
from areaviz.trace.arrays import (
    AREA_SIZE,
    MAX_ITEMS,
    MAX_LABEL,
    SITE,
    check_bytes,
    check_rows,
    check_shape,
    make_frame,
)
from areaviz.trace.codec import DOCUMENT
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.limits import AREA_SIZES, check_range, shorten
from areaviz.trace.on_disk import UPLOADED, SizeLimits, open_trace
from areaviz.trace.picture import check_pixels
from areaviz.trace.record import Trace
from areaviz.trace.weights_file import Reserve, WeightsFile, reserve_nothing

NAMES = ("weights", "memory", "queries", "shape", "picture")
NAME = "your-arrays"
_REFUSAL = (
    "The file is not an .npz archive. Save arrays with numpy.savez, or choose a trace that"
    " this app has saved."
)
_DAMAGED = "The file is damaged or incomplete. Save its arrays again with numpy.savez."

# The example is synthetic and comes from no model. It has items, queries, and for each query the
# index of the item that it translates.
MEMORY = ("The", "old", "red", "train", "stops", "in", "the", "small", "station", ".")
QUERIES = ("Der", "alte", "rote", "Zug", "hält", "im", "kleinen", "Bahnhof", ".")
_MEANT = (0, 1, 2, 3, 4, 5, 7, 8, 9)
# Width of each head's attention in items, and the factor of each layer.
_SPREADS, _LAYERS = (0.5, 1.0, 1.5, 3.0), (2.0, 1.0)


def holds_trace(file: BinaryIO, room: SizeLimits = UPLOADED) -> bool:
    """Return whether a file is a stored trace, as opposed to arrays.

    Raises:
        InputError: The file is not an archive.
    """
    with _name_file_in_errors():
        check_archive(file, _REFUSAL, room.file)
        with zipfile.ZipFile(file) as opened:
            return DOCUMENT in opened.namelist()


def open_npz(
    file: BinaryIO,
    area_size: int = AREA_SIZE,
    name: str = NAME,
    room: SizeLimits = UPLOADED,
    reserve: Reserve = reserve_nothing,
) -> Trace:
    """Open an npz file of arrays, or of a stored trace, as a trace whose weights stay on disk.

    Args:
        file: Open, seekable file.
        area_size: For arrays, the maximum number of items in a span, or of rows and columns in a
            rectangle. With 1 there are no areas.
        name: Name of the model of the arrays.
        room: Limits on the size of the trace.
        reserve: Reserves disk space, see `WeightsFile`.

    Raises:
        InputError: The file is neither a trace nor arrays, or an array is missing, is too large,
            holds objects or does not fit the other arrays.
        BackendError: The app has no room for the weights.
    """
    if holds_trace(file, room):
        return open_trace(file, room, reserve)
    check_range("area_size", area_size, AREA_SIZES)
    with _name_file_in_errors(), zipfile.ZipFile(file) as opened:
        return _read_arrays(opened, area_size, name, room, reserve)


def from_npz(content: bytes, area_size: int = AREA_SIZE, name: str = NAME) -> Trace:
    """Open the bytes of an npz file as a trace, see `open_npz`."""
    return open_npz(io.BytesIO(content), area_size, name)


def make_example_arrays() -> dict[str, npt.NDArray[np.generic]]:
    """Return example labels and weights [2, 4, 9, 10]. Each head attends near the right word."""
    distance_QN = np.abs(np.arange(len(MEMORY)) - np.array(_MEANT)[:, None])
    spread_LH = np.outer(_LAYERS, _SPREADS)
    chance = np.random.default_rng(0).normal(0, 0.7, (*spread_LH.shape, *distance_QN.shape))
    scores = np.exp(chance - distance_QN / spread_LH[..., None, None])
    weights = scores / scores.sum(-1, keepdims=True)
    return {
        "weights": weights.astype(np.float32),
        "memory": np.array(MEMORY),
        "queries": np.array(QUERIES),
    }


def make_example_file() -> bytes:
    """Return `make_example_arrays` as the bytes of an npz file."""
    file = io.BytesIO()
    np.savez_compressed(file, **make_example_arrays())  # type: ignore[arg-type]
    return file.getvalue()


@contextmanager
def _name_file_in_errors() -> Iterator[None]:
    """Raise errors of the parsers as an InputError that says the file is damaged."""
    try:
        yield
    except (InputError, BackendError):
        raise
    except Exception as error:
        raise InputError(_DAMAGED) from error


def _read_arrays(
    opened: zipfile.ZipFile, area_size: int, name: str, room: SizeLimits, reserve: Reserve
) -> Trace:
    entries = _list_entries(opened)
    headers = {one: read_header(opened, entry) for one, entry in entries.items()}
    shape = None
    if "shape" in entries:
        _check_pair(headers["shape"])
        rows, columns = read_array(opened, entries["shape"], headers["shape"]).tolist()
        shape = (int(rows), int(columns))
    _check_headers(headers, shape, area_size, room)
    for one, entry in entries.items():
        check_filled(entry, headers[one])
    small: dict[str, Any] = {}
    for one in entries.keys() & {"memory", "queries", "picture"}:
        small[one] = read_array(opened, entries[one], headers[one])
    memory, queries = _convert_labels(small.get("memory")), _convert_labels(small.get("queries"))
    weights = headers["weights"]
    frame = make_frame(weights.shape, memory, queries, shape, small.get("picture"), name)
    layers, heads, query_count, items = weights.shape
    place = WeightsFile(4 * prod(weights.shape), reserve).map((layers, heads, query_count, items))
    first = 0
    for given_RN in _iterate_blocks(opened, entries["weights"], weights, room):
        place.add(check_rows(given_RN, first, weights.shape))
        first += len(given_RN)
    trace = frame.trace(place.weights(), area_size)
    room.check_trace(trace)
    return trace


def _iterate_blocks(
    opened: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header, room: SizeLimits
) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of the weights in order, several at a time."""
    if not header.by_columns:
        yield from read_rows(opened, entry, header)
        return
    # Column-major order scatters each row, so the whole array has to be unpacked.
    if header.nbytes > room.layer:
        raise InputError(
            f"The weights are in column-major order and take {header.nbytes / 2**20:,.0f}"
            f" MiB, but the limit for that order is {room.layer // 2**20} MiB. Save"
            " numpy.ascontiguousarray(weights)."
        )
    yield read_array(opened, entry, header).reshape(-1, header.shape[-1])


def _list_entries(opened: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """Return the entries that are read. If a file has only one array, its name does not matter."""
    found = {entry.filename.removesuffix(".npy"): entry for entry in opened.infolist()}
    if "weights" not in found and len(found) == 1:
        found = {"weights": next(iter(found.values()))}
    if "weights" not in found:
        names = ", ".join(shorten(name) for name in list(found)[:5]) or "nothing"
        raise InputError(
            f'The file has no array called "weights". Its arrays are {names}. Save the'
            " weights as weights=... ."
        )
    return {name: found[name] for name in NAMES if name in found}


def _check_headers(
    headers: Mapping[str, Header], shape: tuple[int, int] | None, area_size: int, room: SizeLimits
) -> None:
    weights = headers["weights"]
    check_shape(weights.shape, weights.dtype, shape)
    check_bytes(weights.shape, shape, area_size)
    layers, heads, query_count, items = weights.shape
    room.check_map(SITE, (layers, heads, query_count, items))
    for name in ("memory", "queries"):
        if name in headers:
            _check_labels(name, headers[name])
    if "picture" in headers:
        check_pixels(headers["picture"].shape, headers["picture"].dtype)


def _check_labels(name: str, header: Header) -> None:
    if header.dtype.kind != "U" or len(header.shape) != 1:
        raise InputError(
            f'The array "{name}" must be a one-dimensional array of texts. Save'
            " numpy.array([...], dtype=str)."
        )
    if header.shape[0] > MAX_ITEMS or header.dtype.itemsize > 4 * MAX_LABEL:
        raise InputError(
            f'The array "{name}" has {header.shape[0]:,} texts of up to'
            f" {header.dtype.itemsize // 4:,} characters, but the limit is {MAX_ITEMS:,} texts of"
            f" {MAX_LABEL}. Shorten it."
        )


def _check_pair(header: Header) -> None:
    if header.shape != (2,) or header.dtype.kind not in "iu":
        raise InputError(
            'The array "shape" must be two whole numbers, the rows and columns of the cells.'
        )


def _convert_labels(texts: npt.NDArray[Any] | None) -> list[str] | None:
    return None if texts is None else [str(text) for text in texts.tolist()]
