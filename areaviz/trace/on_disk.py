"""Stored traces that are shown: their weights lie in a temporary file and are read by layer and
head.

What a file says of itself is checked before any of it is unpacked, and what is unpacked is checked
a few rows at a time. Shapes: as in `areaviz/trace/record.py`.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from math import prod
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from areaviz.trace.archive import check_archive, check_size, unpacked
from areaviz.trace.check import check_rows, validate
from areaviz.trace.codec import DOCUMENT, MAX_DOCUMENT_BYTES, check_type, is_weights, named
from areaviz.trace.document import divide_by_sums, from_document
from areaviz.trace.errors import InputError
from areaviz.trace.npy_entries import Header, check_filled, read_array, read_header, read_rows
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.room import UPLOADED, Room, Shape
from areaviz.trace.spool import Reserve, Spool, Written, unlimited


def open_trace(file: BinaryIO, room: Room = UPLOADED, reserve: Reserve = unlimited) -> Trace:
    """A stored trace whose weights stay on disk: `codec.load` for traces that are large, or a
    stranger's.

    Args:
        file: open, seekable.
        room: how much it may take.
        reserve: see `Spool`.

    Raises:
        InputError: as `codec.load`, or it is larger than `room`.
        BackendError: the app has no room for it.
    """
    with named():
        check_archive(file, most=room.file)
        with zipfile.ZipFile(file) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if DOCUMENT not in entries:
                raise InputError(
                    "The file is an archive but no trace; choose a trace that this app has saved."
                )
            check_size(entries[DOCUMENT].file_size, MAX_DOCUMENT_BYTES, "The trace's document")
            headers = _headers(archive, entries)
            shapes = _shapes(headers, room)
            beside = sum(header.nbytes for name, header in headers.items() if name not in shapes)
            check_size(beside, room.beside, "All but the attention")
            document = json.loads(unpacked(archive, entries[DOCUMENT]))
            arrays: dict[str, npt.NDArray[Any]] = {
                name: read_array(archive, entries[f"{name}.npy"], header)
                for name, header in headers.items()
                if name not in shapes
            }
            spool = Spool(sum(4 * prod(shape) for shape in shapes.values()), reserve)
            for name, shape in shapes.items():
                place = spool.map(shape)
                _copy(
                    archive,
                    entries[f"{name}.npy"],
                    headers[name],
                    place,
                    f'The map of "{_site(name)}"',
                )
                arrays[name] = place.weights()
        trace = from_document(document, arrays)
        for name, field in trace.fields.items():
            room.check_items(name, len(field))
        validate(trace)
    return trace


def _headers(archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> dict[str, Header]:
    """The headers of all arrays by name, each of a type that traces use."""
    found = {}
    for name, entry in entries.items():
        if name.endswith(".npy"):
            header = read_header(archive, entry)
            check_type(header.dtype, header.by_columns)
            check_filled(entry, header)
            found[name.removesuffix(".npy")] = header
    return found


def _shapes(headers: Mapping[str, Header], room: Room) -> dict[str, Shape]:
    """The shapes of all weights by the names of their arrays, checked against the room there is."""
    found: dict[str, Shape] = {}
    for name, header in headers.items():
        if not is_weights(name):
            continue
        if len(header.shape) != 4 or min(header.shape) < 1 or header.dtype.kind != "f":
            raise ValueError(f"weights of shape {header.shape} and type {header.dtype} cannot be")
        layers, heads, queries, areas = header.shape
        found[name] = layers, heads, queries, areas
        room.check_map(_site(name), found[name])
    room.check_maps(list(found.values()))
    return found


def _copy(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, header: Header, place: Written, called: str
) -> None:
    """Unpack the weights of a map to their place, checking each row."""
    for rows_RA in read_rows(archive, entry, header):
        full_RA: FloatArray = rows_RA.astype(np.float32, copy=False)
        if header.dtype.itemsize < full_RA.itemsize:
            divide_by_sums(full_RA)
        check_rows(full_RA, called)
        place.add(full_RA)


def _site(name: str) -> str:
    return name.removeprefix("map.").removesuffix(".weights")
