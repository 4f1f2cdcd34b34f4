"""Traces of attention that was computed elsewhere, from plain arrays: `areaviz.from_arrays`.

Shapes: L layers, H heads, Q queries, N items of the memory, R rows of weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid, FloatArray, format_area
from areaviz.trace.check import validate
from areaviz.trace.derived_areas import make_sums_map
from areaviz.trace.errors import InputError
from areaviz.trace.given_arrays import convert_to_array
from areaviz.trace.layered_weights import LayeredWeights
from areaviz.trace.limits import (
    AREA_SIZES,
    MAX_MAP_BYTES,
    check_layer_bytes,
    check_map_bytes,
    check_range,
    describe_value,
)
from areaviz.trace.picture import MAX_SIDE, Picture, check_pixels
from areaviz.trace.query import predict_bytes
from areaviz.trace.record import TOLERANCE, AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request, check_options, make_model_name

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
        side = max(1, min(32, MAX_SIDE // max(shape)))
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
