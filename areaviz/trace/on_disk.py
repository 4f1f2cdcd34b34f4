"""Stored traces for display, whose weights are in a temporary file and read by layer and head.

The headers of a file are checked before any of it is unpacked. The content is checked a few rows at
a time.

Shapes: as in `areaviz/trace/record.py`, R rows of weights.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from areaviz.trace import archive
from areaviz.trace.archive import Header, check_size
from areaviz.trace.areas import FloatArray
from areaviz.trace.check import check_rows, validate
from areaviz.trace.codec import check_type, document_entry, is_logs, is_weights, refuse_damage
from areaviz.trace.derived_areas import LazyAreaWeights, check_logs
from areaviz.trace.document import check_version, from_document
from areaviz.trace.errors import InputError
from areaviz.trace.layered_weights import Shape
from areaviz.trace.record import Trace
from areaviz.trace.weights import divide_by_sums
from areaviz.trace.weights_file import Reserve, WeightsFile, WrittenWeights, reserve_nothing

MEBI = 2**20


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Size limits for a file to display, checked against its headers."""

    # Maximum bytes of all stored weights, which stay on disk, of all derived weights, and of one
    # layer, which is read as a whole.
    weights: int
    derived: int
    layer: int
    # Maximum number of heads times queries of a layer.
    rows: int
    # Maximum number of areas of a memory. Each area is a row of a table.
    areas: int
    # Maximum bytes of everything except the weights, which is held in memory.
    beside: int
    # Maximum number of items of a field.
    items: int
    # Maximum number of maps of a trace.
    maps: int

    @property
    def file(self) -> int:
        """The maximum size of the file in bytes."""
        return self.weights + self.beside

    def check_map(self, site: str, shape_LHQA: Shape) -> None:
        """Raise an InputError for a map whose layers are too large."""
        _, heads, queries, areas = shape_LHQA
        size = 4 * heads * queries * areas
        if size > self.layer:
            raise InputError(
                f'A layer of "{site}" takes {size / MEBI:,.1f} MiB, but the limit is'
                f" {self.layer // MEBI:,} MiB. Use fewer heads, fewer items or smaller areas."
            )
        if areas > self.areas:
            raise InputError(
                f'The memory of "{site}" has {areas:,} areas, but the limit is {self.areas:,}.'
                " Use fewer items or smaller areas."
            )
        if heads * queries > self.rows:
            raise InputError(
                f'A layer of "{site}" has {heads:,} heads of {queries:,} queries,'
                f" {heads * queries:,} rows, but the limit is {self.rows:,}. Use fewer heads or"
                " queries."
            )

    def check_stored(self, shapes: Collection[Shape]) -> None:
        """Raise an InputError for too many maps, or for weights that are too large together."""
        self._check_count(len(shapes))
        size = sum(4 * prod(shape) for shape in shapes)
        check_size(size, self.weights, "The attention")

    def check_trace(self, trace: Trace) -> None:
        """Raise an InputError for a trace whose maps, derived maps or fields are too large."""
        self._check_count(len(trace.maps))
        derived = 0
        for site, attention in trace.maps.items():
            layers, heads, queries, areas = attention.weights.shape
            self.check_map(site, (layers, heads, queries, areas))
            if isinstance(attention.weights, LazyAreaWeights):
                derived += attention.weights.nbytes
        check_size(derived, self.derived, "What follows from the attention")
        for name, field in trace.fields.items():
            if len(field) > self.items:
                raise InputError(
                    f'The field "{name}" has {len(field):,} items, but the limit is'
                    f" {self.items:,}. Make a trace of a shorter text."
                )

    def _check_count(self, maps: int) -> None:
        if maps > self.maps:
            raise InputError(
                f"The trace has {maps:,} maps, but the limit is {self.maps}. Save fewer of them."
            )


# Limits for an uploaded file.
UPLOADED = SizeLimits(
    weights=512 * MEBI,
    derived=1024 * MEBI,
    layer=64 * MEBI,
    rows=2**18,
    areas=2**18,
    beside=16 * MEBI,
    items=2**14,
    maps=32,
)
# Limits for the file that the app was started with (`serve --trace`).
OPERATOR = SizeLimits(
    weights=4096 * MEBI,
    derived=16_384 * MEBI,
    layer=512 * MEBI,
    rows=2**20,
    areas=2**20,
    beside=256 * MEBI,
    items=2**16,
    maps=256,
)


def open_trace(
    file: BinaryIO, room: SizeLimits = UPLOADED, reserve: Reserve = reserve_nothing
) -> Trace:
    """Open a stored trace whose weights stay on disk, for large or untrusted traces.

    Args:
        file: Open, seekable file.
        room: Limits on the size of the trace.
        reserve: Reserves disk space, see `WeightsFile`.

    Raises:
        InputError: As for `codec.load`, or the trace exceeds `room`.
        BackendError: The app has no room for the weights.
    """
    with refuse_damage():
        archive.check_archive(file, most=room.file)
        with zipfile.ZipFile(file) as opened:
            entries = {entry.filename: entry for entry in opened.infolist()}
            document = json.loads(archive.unpack_entry(opened, document_entry(entries)))
            check_version(document)
            headers = _read_headers(opened, entries)
            shapes = _list_shapes(headers, room)
            beside = {name: header for name, header in headers.items() if name not in shapes}
            size = sum(header.nbytes for header in beside.values())
            check_size(size, room.beside, "All but the attention")
            arrays: dict[str, npt.NDArray[Any]] = {}
            for name, header in beside.items():
                arrays[name] = archive.read_array(opened, entries[f"{name}.npy"], header)
            spool = WeightsFile(sum(4 * prod(shape) for shape in shapes.values()), reserve)
            for name, shape in shapes.items():
                place = spool.map(shape)
                rows = archive.read_rows(opened, entries[f"{name}.npy"], headers[name])
                if is_logs(name):
                    _copy_logs(rows, place, _parse_site(name))
                else:
                    _copy_weights(rows, place, _parse_site(name))
                arrays[name] = place.weights()
        trace = from_document(document, arrays)
        room.check_trace(trace)
        validate(trace)
    return trace


def _read_headers(
    opened: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]
) -> dict[str, Header]:
    """Return the headers of all arrays by name. Every array has a type that traces use."""
    found = {}
    for name, entry in entries.items():
        if name.endswith(".npy"):
            header = archive.read_header(opened, entry)
            check_type(header.dtype, header.by_columns)
            archive.check_filled(entry, header)
            found[name.removesuffix(".npy")] = header
    return found


def _list_shapes(headers: Mapping[str, Header], room: SizeLimits) -> dict[str, Shape]:
    """Return the shapes of all weights by the names of their arrays, checked against `room`."""
    found: dict[str, Shape] = {}
    for name, header in headers.items():
        if not is_weights(name) and not is_logs(name):
            continue
        if len(header.shape) != 4 or min(header.shape) < 1 or header.dtype.kind != "f":
            raise ValueError(f"weights of shape {header.shape} and type {header.dtype} cannot be")
        layers, heads, queries, areas = header.shape
        found[name] = layers, heads, queries, areas
        room.check_map(_parse_site(name), found[name])
    room.check_stored(found.values())
    return found


def _copy_weights(rows: Iterable[npt.NDArray[Any]], place: WrittenWeights, site: str) -> None:
    """Unpack the weights of a map into the spool, checking each row."""
    for rows_RA in rows:
        full_RA: FloatArray = rows_RA.astype(np.float32, copy=False)
        if rows_RA.itemsize < full_RA.itemsize:
            divide_by_sums(full_RA)
        check_rows(full_RA, f'The map of "{site}"')
        place.add(full_RA)


def _copy_logs(rows: Iterable[npt.NDArray[Any]], place: WrittenWeights, site: str) -> None:
    """Unpack the logarithms of a map's weights into the spool, checking each row."""
    for rows_RN in rows:
        check_logs(rows_RN, f'The map of "{site}"')
        place.add(rows_RN.astype(np.float32, copy=False))


def _parse_site(name: str) -> str:
    return name.removeprefix("map.").removesuffix(".weights").removesuffix(".logs")
