"""Reading and writing of trace files: npz archives of plain arrays and JSON, without pickle.

docs/trace.md specifies the format. Files are untrusted, so every size is read from a header and
checked before anything is unpacked or allocated.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.archive import MAX_BYTES, check_archive, check_size, unpack_entry
from areaviz.trace.argument_checks import check_trace, expand_path
from areaviz.trace.check import check_rows, validate
from areaviz.trace.derived_areas import LazyAreaWeights
from areaviz.trace.document import Fetch, check_version, from_document, to_arrays, to_document
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.files import write_whole
from areaviz.trace.record import FloatArray, Trace

DOCUMENT, LAYER = "trace.json", "weights.npy"
MAX_DOCUMENT_BYTES = 8 * 2**20
TYPES = ("<f2", "<f4", "<i2", "<i8", "|u1")


def to_bytes(trace: Trace, half: bool = False, without: Collection[str] = ()) -> bytes:
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
        InputError: The trace is larger than the limit of `from_bytes`: 512 MiB, with at most 8 MiB
            of text.
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
            weights_HQA = read_array(unpack_entry(archive, entry))
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
        write_whole(expand_path(target), to_bytes(trace, half))
        return
    content = to_bytes(trace, half)
    try:
        target.write(content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"The trace could not be written ({reason}). Free some space and save again."
        ) from error


def from_bytes(content: bytes, fetch: Fetch | None = None) -> Trace:
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
                arrays[name.removesuffix(".npy")] = read_array(unpack_entry(archive, entry))
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


def read_array(entry: bytes) -> npt.NDArray[Any]:
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
