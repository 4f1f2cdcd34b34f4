"""Raw attention arrays as a trace: what `Trace.from_arrays` does.

Shapes: L layers, H heads, Q queries, N items of the memory, C = 3 colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.area_text import area_text
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.check import validate
from areaviz.trace.derived import sums_map
from areaviz.trace.errors import InputError
from areaviz.trace.limits import AREA_SIZES, check_range
from areaviz.trace.picture import MAX_SIDE, Picture, check_picture
from areaviz.trace.query import predicted_bytes
from areaviz.trace.record import TOLERANCE, AttentionMap, Field, FloatArray, Output, Trace
from areaviz.trace.request import Request, check_options

MAX_ITEMS, MAX_LABEL = 4096, 100
MAX_MAP_BYTES = 256 * 2**20
"""Of all maps of a trace together, the derived ones included."""
AREA_SIZE = 3
"""Heads that attend to single items are shown as areas of up to so many items, or so many rows and
columns.
"""
_HALF_TOLERANCE = 1e-2
SITE = "attention"
_NOTHING = "output"


def from_arrays(
    weights: npt.ArrayLike,
    memory: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    shape: tuple[int, int] | None = None,
    picture: Picture | npt.NDArray[np.uint8] | None = None,
    area_size: int = AREA_SIZE,
    name: str = "your-arrays",
) -> Trace:
    """See `Trace.from_arrays`."""
    check_range("area_size", area_size, AREA_SIZES)
    given = np.asarray(weights)
    check_shape(given.shape, given.dtype, shape, area_size)
    frame = frame_of(given.shape, memory, queries, shape, picture, name)
    rows_RN = given.reshape(-1, given.shape[-1])
    attention = frame.attention(checked_rows(rows_RN, 0, given.shape).reshape(given.shape))
    sums = [sums_map(attention, (area_size, area_size))] if has_sums(area_size, given.shape) else []
    return frame.trace([attention, *sums])


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A trace but for its weights: the request, and the fields, what attends last and what is
    attended to first.
    """

    request: Request
    fields: tuple[Field, ...]
    grid: AreaGrid

    def attention(self, weights_LHQN: FloatArray) -> AttentionMap:
        """The map of these weights."""
        return AttentionMap(
            SITE,
            self.fields[-1].name,
            self.fields[0].name,
            self.grid,
            weights_LHQN,
            "rows sum to 1 over items",
        )

    def trace(self, maps: Sequence[AttentionMap]) -> Trace:
        """The trace with these maps, checked."""
        fields = {item.name: item for item in [*self.fields, nothing()]}
        trace = Trace(self.request, fields, NO_OUTPUT, {one.site: one for one in maps})
        validate(trace)
        return trace


def frame_of(
    shape_LHQN: Sequence[int],
    memory: Sequence[str] | None,
    queries: Sequence[str] | None,
    shape: tuple[int, int] | None,
    picture: Picture | npt.NDArray[np.uint8] | None,
    name: str,
) -> Frame:
    """All of the trace of arrays but their weights; arguments and errors as of
    `Trace.from_arrays`.
    """
    *_, asking, items = shape_LHQN
    request = Request(name, "", picture=_picture(picture, shape))
    check_options(request)
    alone = queries is None and asking == items
    if request.picture and shape:
        fields = [cells(request.picture, shape)]
    else:
        fields = [_text("text" if alone else "memory", memory, items, "memory")]
    if not alone:
        fields.append(_text("query", queries, asking, "queries"))
    return Frame(request, tuple(fields), AreaGrid.clamped(shape or (1, items), (1, 1)))


def has_sums(area_size: int, shape_LHQN: Sequence[int]) -> bool:
    """Whether areas of several items are shown beside single ones."""
    return area_size > 1 and shape_LHQN[-1] > 1


def check_shape(
    shape_LHQN: Sequence[int], dtype: npt.DTypeLike, shape: tuple[int, int] | None, area_size: int
) -> None:
    """Check weights by their shape and type alone, before any memory is taken for them.

    Raises:
        InputError: they are not [layer, head, query, memory], no numbers, empty, do not fit the
            picture's cells, or their maps would take more than 256 MiB.
    """
    found = " x ".join(f"{side:,}" for side in shape_LHQN) or "a single number"
    if len(shape_LHQN) != 4 or min(shape_LHQN) < 1:
        raise InputError(
            f"The weights have the shape {found} but must be layers x heads x queries x memory"
            " items, each at least 1; add the axes that are missing, such as weights[None]."
        )
    if np.dtype(dtype).kind != "f":
        raise InputError(
            f"The weights have the type {np.dtype(dtype)} but must be floating-point numbers;"
            " convert them."
        )
    layers, heads, asking, items = shape_LHQN
    if max(asking, items) > MAX_ITEMS:
        raise InputError(
            f"The weights have {max(asking, items):,} queries or items but at most {MAX_ITEMS:,}"
            " are possible; choose a part of them."
        )
    if shape is not None and (min(shape) < 1 or shape[0] * shape[1] != items):
        raise InputError(
            f"The picture has {shape[0]:,} x {shape[1]:,} cells but the weights have {items:,}"
            " memory items; give the rows and columns of the items, and leave out items that are"
            " no cells."
        )
    grids = [AreaGrid.clamped(shape or (1, items), (size, size)) for size in {1, area_size}]
    check_bytes(sum(predicted_bytes(layers, heads, asking, grid) for grid in grids))


def check_bytes(size: int) -> None:
    """Refuse maps that would take too much memory.

    Raises:
        InputError: more than 256 MiB.
    """
    if size > MAX_MAP_BYTES:
        raise InputError(
            f"The attention would take {size / 2**20:,.0f} MiB but at most {MAX_MAP_BYTES // 2**20}"
            " MiB are possible; take fewer layers, fewer items or smaller areas."
        )


def cells(picture: Picture, shape: tuple[int, int]) -> Field:
    """The field "picture": the cells of a grid of `shape` (rows, columns) over a picture, row by
    row.
    """
    rows, columns = shape
    tops = np.linspace(0, picture.height, rows + 1).round().astype(np.int64)
    lefts = np.linspace(0, picture.width, columns + 1).round().astype(np.int64)
    row, column = np.divmod(np.arange(rows * columns), columns)
    anchors = np.stack([lefts[column], tops[row], lefts[column + 1], tops[row + 1]], 1)
    labels = tuple(area_text(Area(r, c, 1, 1)) for r in range(rows) for c in range(columns))
    return Field("picture", "picture", "", labels, anchors)


def text_of(name: str, labels: Sequence[str]) -> Field:
    """A text field of items that are given by their labels alone: the text is the labels with
    blanks between.
    """
    ends = list(accumulate(len(label) + 1 for label in labels))
    anchors = [(end - 1 - len(label), end - 1) for label, end in zip(labels, ends, strict=True)]
    return Field(
        name,
        "text",
        " ".join(labels),
        tuple(labels),
        np.array(anchors, dtype=np.int64).reshape(-1, 2),
    )


def nothing() -> Field:
    """The field of the output where none is known."""
    return text_of(_NOTHING, ())


NO_OUTPUT = Output(_NOTHING, np.zeros(0, dtype=np.float32), ())
"""What stands for the output of a trace that holds attention alone, with the field `nothing()`."""


def _text(name: str, labels: Sequence[str] | None, items: int, what: str) -> Field:
    if labels is None:
        return text_of(name, [str(item) for item in range(1, items + 1)])
    shown = [str(label) for label in labels]
    if len(shown) != items:
        raise InputError(
            f"There are {len(shown):,} labels of {what} but the weights have {items:,}; give one"
            " label for each."
        )
    longest = max(map(len, shown))
    if longest > MAX_LABEL:
        raise InputError(
            f"A label of {what} has {longest:,} characters but at most {MAX_LABEL} are possible;"
            " shorten it."
        )
    return text_of(name, shown)


def _picture(
    picture: Picture | npt.NDArray[np.uint8] | None, shape: tuple[int, int] | None
) -> Picture | None:
    """The picture behind the cells; grey where there is none."""
    if shape is None:
        if picture is not None:
            raise InputError(
                'A picture is given but not its "shape"; give the rows and columns of its cells.'
            )
        return None
    if picture is None:
        side = max(1, min(32, MAX_SIDE // max(shape)))
        picture = np.full((shape[0] * side, shape[1] * side, 3), 128, dtype=np.uint8)
    if isinstance(picture, np.ndarray):
        check_pixels(picture.shape, picture.dtype)
        picture = Picture.of("yours", picture)
    check_picture(picture)
    return picture


def check_pixels(shape_HWC: Sequence[int], dtype: npt.DTypeLike) -> None:
    """Check a picture's pixels by their shape and type alone.

    Raises:
        InputError: they are not uint8 [height, width, 3] with sides of 1 to 640.
    """
    fits = (
        len(shape_HWC) == 3
        and shape_HWC[2] == 3
        and min(shape_HWC) >= 1
        and max(shape_HWC[:2]) <= MAX_SIDE
    )
    if not fits or np.dtype(dtype) != np.uint8:
        raise InputError(
            f"The picture has the shape {' x '.join(map(str, shape_HWC))} and the type"
            f" {np.dtype(dtype)} but must be height x width x 3 bytes (uint8) with sides of 1 to"
            f" {MAX_SIDE}; convert it."
        )


def checked_rows(given_RN: npt.NDArray[Any], first: int, shape_LHQN: Sequence[int]) -> FloatArray:
    """Rows of weights as float32 that sum to 1, or to 0 where everything is masked.

    Half precision rounds, so rows stored in it may be off by 0.01 and are divided by their sum
    again.

    Args:
        given_RN: some rows of the array.
        first: the number of the first of them among all rows.
        shape_LHQN: of the array.

    Raises:
        InputError: a weight is not finite or below 0, or a row has another sum.
    """
    weights_RN: FloatArray = given_RN.astype(np.float32)
    if not np.isfinite(weights_RN).all():
        place = _place((~np.isfinite(weights_RN)).any(axis=-1), first, shape_LHQN)
        raise InputError(f"The weights of {place} are not all finite; remove NaN.")
    if weights_RN.min() < 0:
        place = _place((weights_RN < 0).any(-1), first, shape_LHQN)
        raise InputError(
            f"The weights of {place} are below 0; give weights after the softmax, not scores."
        )
    sums_R = weights_RN.sum(-1, dtype=np.float64)
    off_R = np.minimum(np.abs(sums_R - 1), sums_R) > (
        _HALF_TOLERANCE if given_RN.dtype.itemsize == 2 else TOLERANCE
    )
    if off_R.any():
        raise InputError(
            f"The weights of {_place(off_R, first, shape_LHQN)} sum to {sums_R[off_R][0]:,.4g} but"
            " must sum to 1 over the memory, or to 0 where everything is masked; apply the"
            " softmax, or divide each row by its sum."
        )
    np.divide(weights_RN, sums_R[:, None], out=weights_RN, where=sums_R[:, None] > 0.5)
    return weights_RN


def _place(found_R: npt.ArrayLike, first: int, shape_LHQN: Sequence[int]) -> str:
    """Where the first row found stands, counted from 1."""
    row = first + int(np.argmax(found_R))
    layer, head, query = (int(index) + 1 for index in np.unravel_index(row, tuple(shape_LHQN[:3])))
    return f"layer {layer}, head {head}, query {query}"
