"""An npz file of raw attention arrays, as NumPy saves it, as a trace; docs/your_models.md says what
it holds.

Files come from strangers: every shape and type is read from a header and checked before its array
is unpacked, and arrays of Python objects, which NumPy would unpickle, are refused by their header.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, BinaryIO

import numpy.typing as npt

from areaviz.trace import codec
from areaviz.trace.archive import check_archive
from areaviz.trace.areas import AreaGrid
from areaviz.trace.arrays import (
    AREA_SIZE,
    MAX_ITEMS,
    MAX_LABEL,
    SITE,
    Frame,
    check_pixels,
    check_shape,
    checked_rows,
    frame_of,
    has_sums,
)
from areaviz.trace.derived import SUMS, map_of_sums, shared_sums
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.limits import AREA_SIZES, check_range, shown
from areaviz.trace.npy_entries import Header, check_filled, read_array, read_header, read_rows
from areaviz.trace.on_disk import open_trace
from areaviz.trace.record import Trace
from areaviz.trace.room import UPLOADED, Room, Shape
from areaviz.trace.spool import Reserve, Spool, unlimited

NAMES = ("weights", "memory", "queries", "shape", "picture")
_REFUSAL = (
    "The file is no npz archive; save arrays with numpy.savez, or choose a trace that this app has"
    " saved."
)
_DAMAGED = "The file is damaged or cut short; save its arrays anew with numpy.savez."


def holds_trace(file: BinaryIO, room: Room = UPLOADED) -> bool:
    """Whether a file is a stored trace, not raw arrays; InputError where it is no archive, or
    larger than `room`.
    """
    with _named_errors():
        check_archive(file, _REFUSAL, room.file)
        with zipfile.ZipFile(file) as archive:
            return codec.DOCUMENT in archive.namelist()


def open_npz(
    file: BinaryIO,
    area_size: int = AREA_SIZE,
    name: str = "your-arrays",
    room: Room = UPLOADED,
    reserve: Reserve = unlimited,
) -> Trace:
    """The trace in an npz file: of its arrays, or a trace that this app has saved. Its weights stay
    on disk.

    Args:
        file: open, seekable.
        area_size: of arrays, most items of an area, or rows and columns of one; 1 leaves the areas
            out.
        name: what the model of arrays is called.
        room: how much it may take.
        reserve: see `Spool`.

    Raises:
        InputError: it is no such file, an array is missing, too large, holds objects or does not
            fit the others.
        BackendError: the app has no room for it.
    """
    if holds_trace(file, room):
        return open_trace(file, room, reserve)
    check_range("area_size", area_size, AREA_SIZES)
    with _named_errors(), zipfile.ZipFile(file) as archive:
        return _of_arrays(archive, area_size, name, room, reserve)


def from_npz(content: bytes, area_size: int = AREA_SIZE, name: str = "your-arrays") -> Trace:
    """The same of the bytes of a file."""
    return open_npz(io.BytesIO(content), area_size, name)


@contextmanager
def _named_errors() -> Iterator[None]:
    """Whatever the parsers in the block raise means that a stranger's file is damaged."""
    try:
        yield
    except (InputError, BackendError):
        raise
    except Exception as error:
        raise InputError(_DAMAGED) from error


def _of_arrays(
    archive: zipfile.ZipFile, area_size: int, name: str, room: Room, reserve: Reserve
) -> Trace:
    entries = _named(archive)
    headers = {called: read_header(archive, entry) for called, entry in entries.items()}
    shape = None
    if "shape" in entries:
        _check_pair(headers["shape"])
        rows, columns = read_array(archive, entries["shape"], headers["shape"]).tolist()
        shape = (int(rows), int(columns))
    _check(headers, shape, area_size)
    for called, entry in entries.items():
        check_filled(entry, headers[called])
    others = ("memory", "queries", "picture")
    small = {
        one: read_array(archive, entries[one], headers[one]) for one in others if one in entries
    }
    weights = headers["weights"]
    memory, queries = _labels(small.get("memory")), _labels(small.get("queries"))
    frame = frame_of(weights.shape, memory, queries, shape, small.get("picture"), name)
    blocks = _blocks(archive, entries["weights"], weights, room)
    return _spooled(frame, weights.shape, blocks, area_size, room, reserve)


def _spooled(
    frame: Frame,
    shape_LHQN: Sequence[int],
    blocks: Iterable[npt.NDArray[Any]],
    area_size: int,
    room: Room,
    reserve: Reserve,
) -> Trace:
    """The trace of a frame and the rows of its weights, which are written to disk with their sums
    as they come.
    """
    layers, heads, queries, items = shape_LHQN
    largest = area_size if has_sums(area_size, shape_LHQN) else 1
    grid = AreaGrid.clamped((frame.grid.height, frame.grid.width), (largest, largest))
    shapes: dict[str, Shape] = {SITE: (layers, heads, queries, items)}
    if largest > 1:
        shapes[SITE + SUMS] = layers, heads, queries, grid.count
    for site, one in shapes.items():
        room.check_map(site, one)
    spool = Spool(sum(4 * prod(one) for one in shapes.values()), reserve)
    places = [spool.map(one) for one in shapes.values()]
    first = 0
    for given_RN in blocks:
        rows_RN = checked_rows(given_RN, first, shape_LHQN)
        first += len(rows_RN)
        places[0].add(rows_RN)
        for place in places[1:]:
            place.add(shared_sums(rows_RN, grid))
    attention = frame.attention(places[0].weights())
    return frame.trace(
        [attention, *(map_of_sums(attention, grid, place.weights()) for place in places[1:])]
    )


def _blocks(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header, room: Room
) -> Iterator[npt.NDArray[Any]]:
    """The rows of the weights in order, some at a time."""
    if not header.by_columns:
        yield from read_rows(archive, entry, header)
        return
    if (
        header.nbytes > room.layer
    ):  # rows lie all over the array then, so it has to be unpacked as a whole
        raise InputError(
            f"The weights lie by columns and take {header.nbytes / 2**20:,.0f} MiB but at most "
            f"{room.layer // 2**20} MiB are possible so; save numpy.ascontiguousarray(weights)."
        )
    yield read_array(archive, entry, header).reshape(-1, header.shape[-1])


def _named(archive: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """The entries that are looked at; a file with one array may call it as it likes."""
    found = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    if "weights" not in found and len(found) == 1:
        found = {"weights": next(iter(found.values()))}
    if "weights" not in found:
        names = ", ".join(shown(name) for name in list(found)[:5]) or "nothing"
        raise InputError(
            f'The file has no array called "weights"; it has {names}. Save it as weights=... .'
        )
    return {name: found[name] for name in NAMES if name in found}


def _check(headers: Mapping[str, Header], shape: tuple[int, int] | None, area_size: int) -> None:
    weights = headers["weights"]
    check_shape(weights.shape, weights.dtype, shape, area_size)
    for name in ("memory", "queries"):
        if name in headers:
            _check_labels(name, headers[name])
    if "picture" in headers:
        check_pixels(headers["picture"].shape, headers["picture"].dtype)


def _check_labels(name: str, header: Header) -> None:
    if header.dtype.kind != "U" or len(header.shape) != 1:
        raise InputError(
            f'The array "{name}" must be texts in one row; save numpy.array([...], dtype=str).'
        )
    if header.shape[0] > MAX_ITEMS or header.dtype.itemsize > 4 * MAX_LABEL:
        raise InputError(
            f'The array "{name}" has {header.shape[0]:,} texts of up to'
            f" {header.dtype.itemsize // 4:,} characters but at most {MAX_ITEMS:,} of {MAX_LABEL}"
            " are possible; shorten it."
        )


def _check_pair(header: Header) -> None:
    if header.shape != (2,) or header.dtype.kind not in "iu":
        raise InputError(
            'The array "shape" must be two whole numbers, the rows and columns of the cells.'
        )


def _labels(texts: npt.NDArray[Any] | None) -> list[str] | None:
    return None if texts is None else [str(text) for text in texts.tolist()]
