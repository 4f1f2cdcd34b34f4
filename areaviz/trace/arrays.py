"""Traces of attention that was computed elsewhere, from plain arrays or from an npz file.

`from_arrays` builds a trace and `from_npz` reads a file of arrays. The checks and the fields
that they use also serve the other converters of this package.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid, FloatArray, format_area
from areaviz.trace.derived import make_sums_map
from areaviz.trace.document import validate
from areaviz.trace.errors import (
    AREA_SIZES,
    MAX_MAP_BYTES,
    BackendError,
    InputError,
    check_layer_bytes,
    check_map_bytes,
    check_range,
    describe_value,
    shorten,
)
from areaviz.trace.file import (
    DOCUMENT,
    UPLOADED,
    Reserve,
    SizeLimits,
    WeightsFile,
    open_trace,
    reserve_nothing,
)
from areaviz.trace.query import predict_bytes
from areaviz.trace.record import TOLERANCE, AttentionMap, Field, LayeredWeights, Output, Trace
from areaviz.trace.request import (
    MAX_PICTURE_SIDE,
    Picture,
    Request,
    check_options,
    check_pixels,
    make_model_name,
)
from areaviz.trace.safe_files import (
    Header,
    check_archive,
    check_filled,
    read_array,
    read_header,
    read_rows,
)

# Conversion of weights of any library to one NumPy array.


_ASK_FOR_WEIGHTS = (
    'Load the model with attn_implementation="eager" and call it with output_attentions=True, or'
    " use areaviz.attend"
)


def convert_to_array(weights: Any) -> npt.NDArray[Any]:
    """Return weights of any library as an array. The layers of a model are stacked.

    Tensors may require gradients, be on another device or have a type that NumPy lacks. A layer
    [1, H, Q, N] belongs to a batch of one. Layers that are None are left out.

    Raises:
        InputError: There are no weights, the layers have different shapes, or the input is not made
            of arrays.
    """
    if weights is None or (isinstance(weights, list | tuple) and not len(weights)):
        raise InputError(f"There are no weights ({weights!r}). {_ASK_FOR_WEIGHTS}.")
    if isinstance(weights, list | tuple) and all(layer is None for layer in weights):
        raise InputError(f"No layer has weights: all are None. {_ASK_FOR_WEIGHTS}.")
    if isinstance(weights, list | tuple) and any(_holds_arrays(step) for step in weights):
        raise InputError(
            "The weights belong to single steps of generation, but one pass over the whole"
            " text is needed. Pass the result of generate() to areaviz.from_generate."
        )
    if isinstance(weights, list | tuple) and any(hasattr(layer, "shape") for layer in weights):
        # Hybrid models have layers without attention.
        layers = [convert_to_array(layer) for layer in weights if layer is not None]
        shapes = {layer.shape for layer in layers}
        if len(shapes) > 1:
            raise InputError(
                "The layers have different shapes. Pass the layers of a single forward pass."
            )
        if shapes == {(1, *layers[0].shape[1:])} and layers[0].ndim == 4:
            layers = [layer[0] for layer in layers]
        return np.stack(layers)
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu()
        # NumPy has no bfloat16. Half precision is at least as precise.
        weights = weights.half() if weights.element_size() == 2 else weights
    try:
        found = np.asarray(weights)
        if found.dtype.kind in "OSU":
            raise TypeError(f"{type(weights).__name__} of {found.dtype}")
        return found
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            "The weights are neither a floating-point array nor one array per layer. Pass the"
            " result of generate() to areaviz.from_generate."
        ) from error


def _holds_arrays(step: object) -> bool:
    """Return whether an object is a sequence of arrays, such as the layers of a generation step."""
    return isinstance(step, list | tuple) and any(hasattr(layer, "shape") for layer in step)


# Traces of attention that was computed elsewhere, from plain arrays: `areaviz.from_arrays`.
#
# Shapes: L layers, H heads, Q queries, N items of the memory, R rows of weights.


MAX_ITEMS, MAX_LABEL = 4096, 100
# Default maximum size of the areas over which weights are summed: items in a span, or rows and
# columns in a rectangle. The weights belong to heads that attend to single items.
AREA_SIZE = 3
SITE = "attention"
# Rows in half precision are rounded, so their sums may be further from 1.
_HALF_TOLERANCE = 1e-2
_NOTHING = "output"
# The output of a trace that holds only attention. Its field is `make_empty_output()`.
NO_OUTPUT = Output(_NOTHING, np.zeros(0, dtype=np.float32), ())


def from_arrays(
    weights: npt.ArrayLike | Sequence[object],
    memory: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    shape: tuple[int, int] | None = None,
    picture: Picture | npt.NDArray[np.uint8] | None = None,
    area_size: int = AREA_SIZE,
    name: str = "your-arrays",
) -> Trace:
    """Make a trace from attention weights computed elsewhere, with their sums over areas.

    Weights of more than 256 MiB stay where they are, for example in a memory-mapped file. They are
    read and checked one layer or head at a time when a view needs them.

    Args:
        weights: Floating-point array [L, H, Q, N]. Each row is a distribution over the N items, or
            0 if all items are masked. You can also pass a model's `outputs.attentions`, one array
            per layer.
        memory: A label for each of the N items. By default their numbers. Ignored if `shape` is
            given.
        queries: A label for each of the Q queries. By default the memory itself if Q = N, otherwise
            their numbers.
        shape: (rows, columns) if the items are the cells of a picture, in row-major order.
        picture: The picture behind the cells, uint8 [height, width, 3]. By default a grey one.
        area_size: Maximum number of items in a span, or of rows and columns in a rectangle, 1..16.
            With 1 there are no areas.
        name: Name of the model: letters, digits, dots, hyphens and underscores.

    Raises:
        InputError: The arrays do not fit each other, a layer takes more than 1 GiB, weights are
            below 0 or not finite, or rows sum to neither 1 nor 0.
    """
    check_range("area_size", area_size, AREA_SIZES)
    given = convert_to_array(weights)
    check_shape(given.shape, given.dtype, shape)
    frame = make_frame(given.shape, memory, queries, shape, picture, name)
    if _count_bytes(given.shape) > MAX_MAP_BYTES:
        check_layer_bytes(_count_layer_bytes(given.shape, shape, area_size))
        return frame.trace(read_by_layer(given), area_size)
    check_map_bytes(_count_layer_bytes(given.shape, shape, area_size))
    rows_RN = check_rows(given.reshape(-1, given.shape[-1]), 0, given.shape)
    return frame.trace(rows_RN.reshape(given.shape), area_size)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A trace without its weights."""

    request: Request
    # The memory first and the queries last, or one field if the memory attends to itself.
    fields: tuple[Field, ...]
    # The items of the memory, as a grid of single-item areas.
    grid: AreaGrid

    def trace(self, weights_LHQN: FloatArray, area_size: int) -> Trace:
        """Return the trace with these weights, checked.

        If areas may have several items, the trace also gets the sums of the weights over areas.
        """
        query, memory = self.fields[-1].name, self.fields[0].name
        attention = AttentionMap(
            SITE, query, memory, self.grid, weights_LHQN, "rows sum to 1 over items"
        )
        maps = {SITE: attention}
        if area_size > 1 and self.grid.items > 1:
            sums = make_sums_map(attention, (area_size, area_size))
            maps[sums.site] = sums
        fields = {item.name: item for item in (*self.fields, make_empty_output())}
        trace = Trace(self.request, fields, NO_OUTPUT, maps)
        validate(trace)
        return trace


def make_frame(
    shape_LHQN: Sequence[int],
    memory: Sequence[str] | None,
    queries: Sequence[str] | None,
    shape: tuple[int, int] | None,
    picture: Picture | npt.NDArray[np.uint8] | None,
    name: str,
) -> Frame:
    """Return everything in a trace except its weights.

    Args and errors are those of `from_arrays`.
    """
    *_, query_count, items = shape_LHQN
    request = Request(make_model_name(name), "", picture=_make_picture(picture, shape))
    check_options(request)
    within = queries is None and query_count == items
    if request.picture and shape:
        fields = [make_cell_field(request.picture, shape)]
    else:
        fields = [make_labelled_field("text" if within else "memory", memory, items, "memory")]
    if not within:
        fields.append(make_labelled_field("query", queries, query_count, "queries"))
    return Frame(request, tuple(fields), AreaGrid.clamped(shape or (1, items), (1, 1)))


def read_by_layer(given_LHQN: npt.NDArray[Any]) -> FloatArray:
    """Return a stand-in for weights that stay where they are.

    Rows are checked when they are read. The latest layer is cached, because views read a layer
    several times.
    """
    layers, heads, queries, items = given_LHQN.shape

    def read(layer: int) -> FloatArray:
        found_HQN = np.empty((heads, queries, items), np.float32)
        # Check one head at a time. Checking the whole layer would need as much memory again.
        for head in range(heads):
            row = (layer * heads + head) * queries
            found_HQN[head] = check_rows(given_LHQN[layer, head], row, given_LHQN.shape)
        return found_HQN

    return cast(FloatArray, LayeredWeights((layers, heads, queries, items), read, most=1))


def check_bytes(shape_LHQN: Sequence[int], shape: tuple[int, int] | None, area_size: int) -> None:
    """Refuse weights, or a layer of their sums over areas, that would take more than 256 MiB."""
    check_map_bytes(max(_count_bytes(shape_LHQN), _count_layer_bytes(shape_LHQN, shape, area_size)))


def _count_bytes(shape_LHQN: Sequence[int]) -> int:
    """Return the size in bytes of weights in single precision."""
    return 4 * prod(shape_LHQN)


def _count_layer_bytes(
    shape_LHQN: Sequence[int], shape: tuple[int, int] | None, area_size: int
) -> int:
    """Return the size in bytes of one layer of their sums over areas."""
    _, heads, query_count, items = shape_LHQN
    grid = AreaGrid.clamped(shape or (1, items), (area_size, area_size))
    return predict_bytes(1, heads, query_count, grid)


def check_shape(
    shape_LHQN: Sequence[int], dtype: npt.DTypeLike, shape: tuple[int, int] | None
) -> None:
    """Check weights by their shape and type alone, before memory is allocated for them.

    Raises:
        InputError: The weights are not [layer, head, query, memory], are not floating-point
            numbers, are empty, or do not fit the picture's cells.
    """
    found = " x ".join(f"{side:,}" for side in shape_LHQN) or "a single number"
    if len(shape_LHQN) == 5:
        raise InputError(
            f"The weights have a batch axis (shape {found}). Pass one example, such as"
            " [layer[0] for layer in outputs.attentions]."
        )
    if len(shape_LHQN) != 4 or min(shape_LHQN) < 1:
        raise InputError(
            f"The weights have the shape {found} but must be layers x heads x queries x"
            " memory items, each at least 1. Add the axes that are missing, such as"
            " weights[None]."
        )
    if np.dtype(dtype).kind != "f":
        raise InputError(
            f"The weights have the type {np.dtype(dtype)} but must be floating-point numbers."
            " Convert them."
        )
    *_, query_count, items = shape_LHQN
    if max(query_count, items) > MAX_ITEMS:
        raise InputError(
            f"The weights have {max(query_count, items):,} queries or items, but the limit is"
            f" {MAX_ITEMS:,}. Choose a part of them."
        )
    if shape is not None and (min(shape) < 1 or shape[0] * shape[1] != items):
        raise InputError(
            f"The picture has {shape[0]:,} x {shape[1]:,} cells but the weights have"
            f" {items:,} memory items. Give the rows and columns of the items, and leave out"
            " items that are not cells."
        )


def check_rows(given_RN: npt.NDArray[Any], first: int, shape_LHQN: Sequence[int]) -> FloatArray:
    """Check rows of weights, and return them as float32 rows that sum to 1, or to 0 if masked.

    Args:
        given_RN: Some rows of the array. Sums in half precision may be off by 0.01. All rows are
            divided by their sum again.
        first: Index of the first given row among all rows.
        shape_LHQN: Shape of the array.

    Raises:
        InputError: A weight is not finite or below 0, or a row sums to neither 1 nor 0.
    """
    weights_RN: FloatArray = given_RN.astype(np.float32)
    # In double precision, a sum is finite exactly if all values of the row are finite.
    sums_R = weights_RN.sum(-1, dtype=np.float64)
    endless_R = ~np.isfinite(sums_R)
    if endless_R.any():
        place = _describe_place(endless_R, first, shape_LHQN)
        raise InputError(f"The weights at {place} are not all finite. Remove NaN.")
    if weights_RN.min() < 0:
        place = _describe_place((weights_RN < 0).any(-1), first, shape_LHQN)
        raise InputError(
            f"The weights at {place} are negative. Pass attention weights after the softmax,"
            " not scores."
        )
    tolerance = _HALF_TOLERANCE if given_RN.dtype.itemsize == 2 else TOLERANCE
    off_R = np.minimum(np.abs(sums_R - 1), sums_R) > tolerance
    if off_R.any():
        raise InputError(
            f"The weights at {_describe_place(off_R, first, shape_LHQN)} sum to"
            f" {sums_R[off_R][0]:,.4g} but must sum to 1 over the memory, or to 0 where"
            " everything is masked. Apply the softmax, or divide each row by its sum."
        )
    np.divide(weights_RN, sums_R[:, None], out=weights_RN, where=sums_R[:, None] > 0.5)
    return weights_RN


def make_cell_field(picture: Picture, shape: tuple[int, int]) -> Field:
    """Return the field "picture" of the cells of a grid (rows, columns), row by row."""
    rows, columns = shape
    tops = np.linspace(0, picture.height, rows + 1).round().astype(np.int64)
    lefts = np.linspace(0, picture.width, columns + 1).round().astype(np.int64)
    row, column = np.divmod(np.arange(rows * columns), columns)
    anchors = np.stack([lefts[column], tops[row], lefts[column + 1], tops[row + 1]], 1)
    labels = tuple(format_area(Area(r, c, 1, 1)) for r in range(rows) for c in range(columns))
    return Field("picture", "picture", "", labels, anchors)


def make_text_field(name: str, labels: Sequence[str]) -> Field:
    """Return a text field whose items are these labels, joined by spaces."""
    anchors = np.empty((len(labels), 2), np.int64)
    end = -1
    for item, label in enumerate(labels):
        start = end + 1
        end = start + len(label)
        anchors[item] = start, end
    return Field(name, "text", " ".join(labels), tuple(labels), anchors)


def make_empty_output() -> Field:
    """Return the empty output field of a trace whose output is unknown."""
    return make_text_field(_NOTHING, ())


def make_labelled_field(name: str, labels: Sequence[str] | None, items: int, what: str) -> Field:
    """Return a text field of `items` items with these labels, or with their numbers.

    Raises:
        InputError: The number of labels differs from `items`, or a label is too long. The message
            names the labels by `what`.
    """
    if labels is None:
        return make_text_field(name, [str(item) for item in range(1, items + 1)])
    if not isinstance(labels, Iterable):
        raise InputError(
            f"The labels of {what} must be a list of texts but are {describe_value(labels)}. Give"
            " one label for each item."
        )
    texts = [str(label) for label in labels]
    if len(texts) != items:
        raise InputError(
            f"There are {len(texts):,} labels of {what}, but the weights have {items:,}"
            " items. Give one label per item."
        )
    longest = max(map(len, texts))
    if longest > MAX_LABEL:
        raise InputError(
            f"A label of {what} has {longest:,} characters, but the limit is {MAX_LABEL}. Shorten"
            " it."
        )
    return make_text_field(name, texts)


def _make_picture(
    picture: Picture | npt.NDArray[np.uint8] | None, shape: tuple[int, int] | None
) -> Picture | None:
    """Return the picture behind the cells, a grey one by default, or None without a shape."""
    if shape is None:
        if picture is not None:
            raise InputError('A "picture" needs a "shape". Give the rows and columns of its cells.')
        return None
    if picture is None:
        side = max(1, min(32, MAX_PICTURE_SIDE // max(shape)))
        picture = np.full((shape[0] * side, shape[1] * side, 3), 128, dtype=np.uint8)
    if isinstance(picture, np.ndarray):
        check_pixels(picture.shape, picture.dtype)
        picture = Picture.of("yours", picture)
    picture.check()
    return picture


def _describe_place(found_R: npt.ArrayLike, first: int, shape_LHQN: Sequence[int]) -> str:
    """Describe the position of the first row found, counted from 1."""
    row = first + int(np.argmax(found_R))
    layer, head, query = (int(index) + 1 for index in np.unravel_index(row, tuple(shape_LHQN[:3])))
    return f"layer {layer}, head {head}, query {query}"


# Traces from npz files of attention arrays, and an example of such a file.
#
# docs/your_models.md specifies the file. Files are untrusted: every shape and type is read from a
# header and checked before its array is unpacked. Arrays of Python objects, which NumPy would
# unpickle, are refused by their header.
#
# Shapes: L layers, H heads, Q queries, N items, R rows of weights.


NAMES = ("weights", "memory", "queries", "shape", "picture")
MODEL_NAME = "your-arrays"
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
    name: str = MODEL_NAME,
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


def from_npz(content: bytes, area_size: int = AREA_SIZE, name: str = MODEL_NAME) -> Trace:
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
