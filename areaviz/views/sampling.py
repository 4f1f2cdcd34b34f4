"""What the sampling grid shows: a quadrilateral, some of its points, the output, and one sample.

A spatial transformer reads a pixel of its output between four pixels of the picture (Jaderberg et
al. 2015, equation 5). Places are (x, y) in pixels of the picture from its outer left top corner, so
the first pixel's middle is (0.5, 0.5). Shapes: S side of the output, P places, H, W of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import numpy.typing as npt

from areaviz.drawing.base import Row, Table, caption
from areaviz.drawing.gazes import picture_of, source_of, view_box
from areaviz.drawing.pictures import Box, Pixels
from areaviz.drawing.theme import Drawing
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

CORNERS = ("top left", "top right", "bottom right", "bottom left")
COLOURS = ("#0072B2", "#F0E442", "#CC79A7", "#009E73")
"""Of the corners, from Okabe and Ito; the sample is drawn in the theme's second colour."""
# Samples along a side that are shown as points.
_POINTS = 7


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One of the four pixels around a sample."""

    # 0-based.
    column: int
    row: int
    # Grey, 0..255; 0 outside the picture.
    value: float
    # 0..1.
    weight: float

    @property
    def product(self) -> float:
        """What it adds."""
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Sample:
    """One pixel of the output, its place in the picture, and the pixels around that."""

    # Of the output, 0-based.
    row: int
    column: int
    # In the picture.
    x: float
    y: float
    neighbours: Sequence[Neighbour]

    @property
    def name(self) -> str:
        """Which pixel of the output it is."""
        return f"sample of output row {self.row + 1}, column {self.column + 1}"

    @property
    def total(self) -> float:
        """The weighted sum of the neighbours' values, 0..255."""
        return sum(neighbour.product for neighbour in self.neighbours)


def places(
    corners_42: FloatArray,
    side: int,
    pixels_P2: npt.ArrayLike,
) -> FloatArray:
    """Where pixels (row, column) of the output lie in the picture: float32 [P, 2] as (x, y)."""
    first, right, _, down = corners_42
    share_P2 = (np.asarray(pixels_P2) + 0.5) / side
    across_P2, along_P2 = share_P2[:, 1:] * (right - first), share_P2[:, :1] * (down - first)
    found_P2: FloatArray = (first + across_P2 + along_P2).astype(np.float32)
    return found_P2


def sample(
    picture_HWC: Pixels,
    corners_42: FloatArray,
    side: int,
    index: int,
) -> Sample:
    """How output pixel `index`, counted row by row, is read; a value is the mean of the colours."""
    row, column = divmod(index, side)
    x, y = places(corners_42, side, [(row, column)])[0].tolist()
    left, top = floor(x - 0.5), floor(y - 0.5)
    across, down = x - 0.5 - left, y - 0.5 - top
    height, width = picture_HWC.shape[:2]
    found = []
    for r, high in ((top, 1 - down), (top + 1, down)):
        for c, wide in ((left, 1 - across), (left + 1, across)):
            inside = 0 <= r < height and 0 <= c < width
            grey = float(picture_HWC[r, c].mean()) if inside else 0.0
            found.append(Neighbour(c, r, grey, wide * high))
    return Sample(row, column, x, y, found)


@dataclass(frozen=True, slots=True, eq=False)
class Sampling(Drawing):
    """The finest scale of one look of a spatial transformer."""

    picture: Pixels
    # What the figure shows, in pixels of the picture.
    box: Box
    # float32 [4, 2], in pixels of the picture.
    corners: FloatArray
    # Where some of the samples lie, and the same in pixels of the output: float32 [P, 2].
    points: FloatArray
    dots: FloatArray
    # uint8 [S, S].
    seen: Pixels
    # In pixels of what the network got, see `gazes.source_of`.
    sample: Sample
    # The sample's place (x, y) in the picture.
    middle: tuple[float, float]
    # What the model got for it, 0..255.
    read: int

    @property
    def edges(self) -> FloatArray:
        """The corners of the output in its own pixels, in the same order: [4, 2]."""
        side = len(self.seen)
        return np.array([[0, 0], [side, 0], [side, side], [0, side]], dtype=np.float32)

    @property
    def sum_lines(self) -> tuple[str, ...]:
        """What the sample is and the weighted sum, in short lines."""
        one = self.sample
        terms = [f"{n.value:.0f} × {n.weight:.2f}" for n in one.neighbours]
        return (
            f"Row {one.row + 1}, column {one.column + 1} of what was",
            f"read lies at {one.x:.2f}, {one.y:.2f} px:",
            f"{terms[0]} + {terms[1]}",
            f"+ {terms[2]} + {terms[3]}",
            f"= {one.total:.0f}; the model read {self.read}",
        )


def sampling(trace: Trace, focus: Focus) -> Sampling:
    """What is drawn for the focused pixel of the output, or the middle one of the first look.

    Pixels are counted row by row, and look by look.
    """
    gaze, picture = trace.gazes[focus.site], picture_of(trace)
    side = gaze.seen.shape[2]
    item = focus.items[0] if focus.items else (side // 2) * (side + 1)
    look, index = divmod(item, side**2)
    corners, seen = gaze.corners[look, 0], gaze.seen[look, 0]
    source, in_source = source_of(trace, corners)
    chosen = sample(source, in_source, side, index)
    x, y = places(corners, side, [(chosen.row, chosen.column)])[0].tolist()
    rows = np.linspace(0, side - 1, min(_POINTS, side)).round().astype(np.int64)
    pixels_P2 = np.stack(np.meshgrid(rows, rows, indexing="ij"), -1).reshape(-1, 2)
    note = (
        f"points: {len(pixels_P2)} of the {side}×{side} samples; corners of one colour and shape"
        " belong together; dotted: overlaps are weights"
    )
    height, width = source.shape[:2]
    if (height, width) != picture.shape[:2]:
        note += f"; the model got {width}×{height} px"
    return Sampling(
        title=f"What the spatial transformer cut out{_which(look, len(gaze.seen))}",
        note=note,
        caption=caption(trace, focus),
        picture=picture,
        box=view_box(picture, corners, 1.0),
        corners=corners,
        points=places(corners, side, pixels_P2),
        dots=(pixels_P2[:, ::-1] + 0.5).astype(np.float32),
        seen=seen,
        sample=chosen,
        middle=(x, y),
        read=int(seen[chosen.row, chosen.column]),
    )


def _which(look: int, looks: int) -> str:
    """Which of several looks it is."""
    return f", look {look + 1} of {looks}" if looks > 1 else ""


def table(drawn: Sampling) -> Table:
    """The corners, the sample's place, and its four pixels with value, weight and product.

    Pixels count from 1.
    """
    one = drawn.sample
    rows: list[Row] = []
    for name, place in zip(CORNERS, drawn.corners.tolist(), strict=True):
        rows.append((f"{name} corner", *place, "", "", ""))
    rows.append((one.name, *drawn.middle, "", "", ""))
    rows.append(("the same in pixels of what the model got", one.x, one.y, "", "", ""))
    for pixel in one.neighbours:
        name = f"pixel in row {pixel.row + 1}, column {pixel.column + 1}"
        place = (pixel.column + 0.5, pixel.row + 0.5)
        rows.append((name, *place, pixel.value, pixel.weight, pixel.product))
    rows.append(("sum", "", "", "", sum(pixel.weight for pixel in one.neighbours), one.total))
    rows.append(("read by the model", "", "", drawn.read, "", ""))
    return Table(("what", "x (px)", "y (px)", "value", "weight", "product"), rows)
