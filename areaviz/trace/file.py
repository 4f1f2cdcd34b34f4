"""Files of traces: npz archives that are written, read safely, and shown from a disk.

Start with `save` and `load`. The file then has the archives of logits, weights in a temporary
file, and `open_trace`, which reads a large trace layer by layer.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace import safe_files
from areaviz.trace.areas import AreaGrid, FloatArray, divide_by_sums
from areaviz.trace.derived import LazyAreaWeights, Logits, check_logs
from areaviz.trace.document import (
    Fetch,
    check_rows,
    check_version,
    from_document,
    to_arrays,
    to_document,
    validate,
)
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import LayeredWeights, Shape, Trace, check_trace, expand_path
from areaviz.trace.safe_files import (
    MAX_BYTES,
    Header,
    check_archive,
    check_size,
    unpack_entry,
    write_whole,
)

# Reading and writing of trace files: npz archives of plain arrays and JSON, without pickle.
#
# docs/trace.md specifies the format. Files are untrusted, so every size is read from a header and
# checked before anything is unpacked or allocated.


DOCUMENT, LAYER = "trace.json", "weights.npy"
MAX_DOCUMENT_BYTES = 8 * 2**20
TYPES = ("<f2", "<f4", "<i2", "<i8", "|u1")


def trace_to_bytes(trace: Trace, half: bool = False, without: Collection[str] = ()) -> bytes:
    """Return the file of a trace. Equal traces give equal bytes.

    Args:
        trace: The trace to write. The file omits weights that other weights of the trace determine
            (`derived.AreaSums`). It stores weights made from logarithms (`derived.AreaSoftmax`) as
            logarithms, always as float16.
        half: Store weights as float16, which takes about half the space. On reading, every row is
            divided by its sum again. With up to 30,000 areas, a weight is then off by at most 0.2 %
            of its value plus 3e-8.
        without: Sites whose weights are also omitted because the recipient can fetch them. Use this
            for messages between app and server, not for files.

    Raises:
        InputError: The trace is larger than the limit of `trace_from_bytes`: 512 MiB, with at
            most 8 MiB of text.
    """
    arrays = to_arrays(trace, without)
    document = json.dumps(to_document(trace, without)).encode("ascii")
    check_size(len(document), MAX_DOCUMENT_BYTES, "The trace's document")
    array_bytes = sum(array.nbytes + 1024 for array in arrays.values())
    check_size(len(document) + array_bytes, MAX_BYTES, "The trace")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        _add_entry(archive, DOCUMENT, [document])
        for name, array in arrays.items():
            _add_entry(archive, f"{name}.npy", _iterate_npy_parts(array, _is_halved(name, half)))
    return buffer.getvalue()


def layer_to_bytes(weights_HQA: FloatArray) -> bytes:
    """Return one layer of one site as an uncompressed npz archive with the array "weights"."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        _add_entry(
            archive, LAYER, _iterate_npy_parts(np.ascontiguousarray(weights_HQA, np.float32))
        )
    return buffer.getvalue()


def layer_from_bytes(content: bytes, shape: tuple[int, ...]) -> FloatArray:
    """Read a layer back, as a read-only float32 array of `shape`.

    Raises:
        InputError: The content is not a layer, has another shape, or has rows that are not
            distributions.
    """
    with refuse_damage():
        file = io.BytesIO(content)
        check_archive(file)
        with zipfile.ZipFile(file) as archive:
            entry = archive.getinfo(LAYER)
            check_size(entry.file_size, MAX_BYTES, "The layer")
            weights_HQA = read_entry(unpack_entry(archive, entry))
        if weights_HQA.dtype != np.float32 or weights_HQA.shape != shape:
            raise ValueError(f"weights of shape {weights_HQA.shape} where {shape} was asked for")
        check_rows(weights_HQA, "A layer")
    return weights_HQA


def save(trace: Trace, target: Path | str | BinaryIO, half: bool = False) -> None:
    """Write a trace to a file, whole or not at all, or to an open binary file.

    Args:
        trace: The trace to write. Equal traces give equal bytes.
        target: A path, which should end in ".npz", or an open binary file.
        half: Store weights as float16, which takes about half the space. A weight that is read back
            is off by at most 0.2 % of its value plus 3e-8.

    Raises:
        InputError: The trace is larger than 512 MiB.
        BackendError: The disk is full or the path is not writable. An existing file is left
            unchanged.
    """
    check_trace(trace)
    if not hasattr(target, "write"):
        write_whole(expand_path(target), trace_to_bytes(trace, half))
        return
    content = trace_to_bytes(trace, half)
    try:
        target.write(content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"The trace could not be written ({reason}). Free some space and save again."
        ) from error


def trace_from_bytes(content: bytes, fetch: Fetch | None = None) -> Trace:
    """Read a trace from bytes. Its arrays are read-only, so it can be shared.

    Args:
        content: Bytes of the file.
        fetch: Function that fetches the weights that a message between app and server omits.

    Raises:
        InputError: The content is not a trace, is damaged, is too large, or was written by a newer
            version of this app.
    """
    return load(io.BytesIO(content), fetch)


def load(source: Path | str | BinaryIO, fetch: Fetch | None = None) -> Trace:
    """Read a trace that this or an older version has written.

    Its arrays are read-only, so it can be shared.

    Args:
        source: A path, or an open, seekable binary file.
        fetch: Function that fetches the weights that a message between app and server omits.
            Files contain all weights.

    Raises:
        InputError: The file is not a trace, is damaged, is too large, was written by a newer
            version of this package, or cannot be opened.
    """
    with refuse_damage():
        if not hasattr(source, "read"):
            with expand_path(source).open("rb") as file:
                return _read(file, fetch)
        return _read(cast("BinaryIO", source), fetch)


def read_version(file: BinaryIO) -> int:
    """Return the format version of an open, seekable file. Errors are those of `load`."""
    with refuse_damage():
        check_archive(file)
        with zipfile.ZipFile(file) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            document = json.loads(unpack_entry(archive, document_entry(entries)))
        check_version(document)
        return int(document["version"])


@contextmanager
def refuse_damage() -> Iterator[None]:
    """Raise every error in the block as an InputError that says in one sentence what is wrong."""
    try:
        yield
    except (InputError, BackendError):
        raise
    except OSError as error:
        raise InputError(
            f"The trace cannot be opened ({error.strerror or error}). Choose another file."
        ) from error
    except ValueError as error:
        reason = str(error).rstrip(".")[:200]
        raise InputError(
            f"The trace is damaged ({reason}). Create it again or choose another file."
        ) from error
    except Exception as error:
        # The file is untrusted: any other error of the parsers means that it is damaged.
        raise InputError(
            "The trace is damaged or incomplete. Download it again or choose another file."
        ) from error


def _read(file: BinaryIO, fetch: Fetch | None) -> Trace:
    check_archive(file)
    with zipfile.ZipFile(file) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        check_size(sum(entry.file_size for entry in entries.values()), MAX_BYTES, "The trace")
        document = json.loads(unpack_entry(archive, document_entry(entries)))
        check_version(document)
        arrays = {}
        for name, entry in entries.items():
            if name.endswith(".npy"):
                arrays[name.removesuffix(".npy")] = read_entry(unpack_entry(archive, entry))
        sizes = [_count_full_bytes(name, array) for name, array in arrays.items()]
        check_size(sum(sizes), MAX_BYTES, "The trace")
    trace = from_document(document, arrays, fetch)
    made = 0
    for attention in trace.maps.values():
        if isinstance(attention.weights, LazyAreaWeights):
            made += attention.weights.cached_bytes
    check_size(made, MAX_BYTES, "What follows from the attention")
    validate(trace)
    return trace


def document_entry(entries: Mapping[str, zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """Return the entry of the JSON document.

    Raises:
        InputError: The document is missing or too large.
    """
    if DOCUMENT not in entries:
        raise InputError(
            "The file is an archive but not a trace. Choose a trace that this app has saved."
        )
    check_size(entries[DOCUMENT].file_size, MAX_DOCUMENT_BYTES, "The trace's document")
    return entries[DOCUMENT]


def read_entry(entry: bytes) -> npt.NDArray[Any]:
    """Return the array of an npy entry, read-only.

    Raises:
        ValueError: The version or type is not used by traces, or the size differs from the header.
    """
    file = io.BytesIO(entry)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array is of an unknown npy version")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    check_type(dtype, by_columns)
    size = len(entry) - file.tell()
    if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != size:
        raise ValueError(f"an array says it has shape {shape} but has {size} bytes")
    return np.frombuffer(entry, dtype, offset=file.tell()).reshape(shape)


def check_type(dtype: np.dtype[Any], by_columns: bool) -> None:
    """Raise a ValueError for an array type that traces do not use."""
    if dtype.str not in TYPES or by_columns:
        raise ValueError(f"an array has the type {dtype}, which traces do not use")


def _count_full_bytes(name: str, array: npt.NDArray[Any]) -> int:
    """Return the size in bytes of an array in a trace, where weights have single precision."""
    return array.nbytes * (2 if is_weights(name) and array.dtype == np.float16 else 1)


def _is_halved(name: str, half: bool) -> bool:
    """Return whether a file stores this array in half precision."""
    return is_logs(name) or (half and is_weights(name))


def is_weights(name: str) -> bool:
    """Return whether an array of this name holds the weights of a map."""
    return name.startswith("map.") and name.endswith(".weights")


def is_logs(name: str) -> bool:
    """Return whether an array of this name holds the logarithms of the item weights of a site."""
    return name.startswith("map.") and name.endswith(".logs")


def _iterate_npy_parts(array: npt.NDArray[Any], half: bool = False) -> Iterator[bytes | memoryview]:
    """Yield the bytes of an npy file.

    Weights are read one layer at a time, because they may be stored elsewhere.
    """
    kind, head = np.dtype(np.float16) if half else array.dtype, io.BytesIO()
    described = {
        "descr": np.lib.format.dtype_to_descr(kind),
        "fortran_order": False,
        "shape": array.shape,
    }
    np.lib.format.write_array_header_1_0(head, described)
    yield head.getvalue()
    for part in array if array.ndim == 4 else [array]:
        if part.size:
            yield np.ascontiguousarray(part, kind).data.cast("B")


def add_array(archive: zipfile.ZipFile, name: str, array: npt.NDArray[Any]) -> None:
    """Add an array to an archive, in the format of NumPy."""
    _add_entry(archive, f"{name}.npy", _iterate_npy_parts(array))


def _add_entry(archive: zipfile.ZipFile, name: str, parts: Iterable[bytes | memoryview]) -> None:
    """Add an entry. Its date is always 1980, so that equal traces give equal files."""
    with archive.open(name, "w") as entry:
        for part in parts:
            entry.write(part)


# Parts of logits as npz archives without pickle, for transfer between app and server.


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
                arrays[entry.filename.removesuffix(".npy")] = read_entry(
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


# Weights of maps in a private temporary file, written in rows and read by layer and head.
#
# The file has no name, so no other program can open it. The system deletes it when no trace reads
# it any more, even if the app was killed. It is in the folder that the variable TMPDIR names.
# Shapes: L layers, H heads, Q queries, A areas, R rows of weights.


# Function that reserves a number of bytes or raises BackendError. It returns the function that
# releases them.
Reserve = Callable[[int], Callable[[], None]]


def reserve_nothing(_size: int) -> Callable[[], None]:
    """Reserve nothing."""
    return lambda: None


class WeightsFile:
    """A temporary file for the weights of the maps of one trace.

    Args:
        size: Total number of bytes to be written.
        reserve: Called with `size` before the file is created. The bytes are released when the file
            is no longer read.

    Raises:
        BackendError: `reserve` refuses, or the file cannot be created.
    """

    def __init__(self, size: int, reserve: Reserve = reserve_nothing) -> None:
        release = reserve(size)
        try:
            # Closed by `_release_file` when no trace reads it any more.
            self._file = tempfile.TemporaryFile(prefix="areaviz-", buffering=0)  # noqa: SIM115
        except OSError as error:
            release()
            raise _make_room_error(error) from error
        self._end = 0
        weakref.finalize(self, _release_file, self._file, release)

    def map(self, shape: Shape) -> WrittenWeights:
        """Allocate space for the weights of one map."""
        place = WrittenWeights(self, self._end, shape)
        self._end += 4 * prod(shape)
        return place

    def write(self, position: int, content: memoryview) -> None:
        """Write bytes at a position of the file.

        Raises:
            BackendError: The disk is full.
        """
        while content:
            try:
                count = os.pwrite(self._file.fileno(), content, position)
            except OSError as error:
                raise _make_room_error(error) from error
            content, position = content[count:], position + count

    def read(self, position: int, target: memoryview) -> None:
        """Fill `target` with the bytes at a position. Several threads may read at once."""
        while target:
            count = os.preadv(self._file.fileno(), [target], position)
            if not count:
                raise BackendError(
                    "The app's copy of this file was deleted. Upload the file again."
                )
            target, position = target[count:], position + count


class WrittenWeights:
    """The weights of one map in a file. Rows are added in order, then read by layer and head."""

    def __init__(self, spool: WeightsFile, start: int, shape: Shape) -> None:
        self._spool, self._start, self._next, self.shape = spool, start, start, shape

    def add(self, rows_RA: FloatArray) -> None:
        """Append the next rows."""
        content = np.ascontiguousarray(rows_RA, np.float32).data.cast("B")
        self._spool.write(self._next, content)
        self._next += len(content)

    def weights(self) -> FloatArray:
        """Return a stand-in for the array [L, H, Q, A] that keeps nothing in memory."""
        return cast(FloatArray, LayeredWeights(self.shape, self._layer, self._heads))

    def _layer(self, layer: int) -> FloatArray:
        return self._heads(layer, 0, self.shape[1])

    def _heads(self, layer: int, first: int, last: int) -> FloatArray:
        """Return heads `first` to `last` (exclusive): [heads, Q, A], read-only."""
        _, heads, queries, areas = self.shape
        found_HQA = np.empty((last - first, queries, areas), np.float32)
        position = self._start + 4 * (layer * heads + first) * queries * areas
        if found_HQA.size:
            self._spool.read(position, found_HQA.data.cast("B"))
        found_HQA.flags.writeable = False
        return found_HQA


def _make_room_error(error: OSError) -> BackendError:
    return BackendError(
        f"The server's disk is full ({error.strerror or error}). Try a smaller file, or tell"
        " whoever runs the app."
    )


def _release_file(file: IO[bytes], release: Callable[[], None]) -> None:
    file.close()
    release()


# Stored traces for display, whose weights are in a temporary file and read by layer and head.
#
# The headers of a file are checked before any of it is unpacked. The content is checked a few rows
# at a time.
#
# Shapes: as in `areaviz/trace/record.py`, R rows of weights.


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
        InputError: As for `load`, or the trace exceeds `room`.
        BackendError: The app has no room for the weights.
    """
    with refuse_damage():
        safe_files.check_archive(file, most=room.file)
        with zipfile.ZipFile(file) as opened:
            entries = {entry.filename: entry for entry in opened.infolist()}
            document = json.loads(safe_files.unpack_entry(opened, document_entry(entries)))
            check_version(document)
            headers = _read_headers(opened, entries)
            shapes = _list_shapes(headers, room)
            beside = {name: header for name, header in headers.items() if name not in shapes}
            size = sum(header.nbytes for header in beside.values())
            check_size(size, room.beside, "All but the attention")
            arrays: dict[str, npt.NDArray[Any]] = {}
            for name, header in beside.items():
                arrays[name] = safe_files.read_array(opened, entries[f"{name}.npy"], header)
            spool = WeightsFile(sum(4 * prod(shape) for shape in shapes.values()), reserve)
            for name, shape in shapes.items():
                place = spool.map(shape)
                rows = safe_files.read_rows(opened, entries[f"{name}.npy"], headers[name])
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
            header = safe_files.read_header(opened, entry)
            check_type(header.dtype, header.by_columns)
            safe_files.check_filled(entry, header)
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
