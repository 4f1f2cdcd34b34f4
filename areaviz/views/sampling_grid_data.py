"""Data of the view of a spatial transformer: its quadrilateral, its output, and some samples.

A spatial transformer interpolates each pixel of its output from four pixels of the picture
(Jaderberg et al. 2015, Eq. 5). Positions are (x, y) in pixels of the picture, measured from its
outer top left corner, so the first pixel's centre is (0.5, 0.5). Shapes: S side of the output, P
positions, H and W of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import numpy.typing as npt

from areaviz.draw.pictures import Box, Pixels
from areaviz.draw.theme import Drawing
from areaviz.draw.view import Row, Table, figure_caption
from areaviz.drawing.gaze_steps import compute_view_box, get_picture, get_source
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

CORNERS = ("top left", "top right", "bottom right", "bottom left")
COLOURS = ("#0072B2", "#F0E442", "#CC79A7", "#009E73")
"""Colours of the corners, from Okabe and Ito. The sample has the theme's second colour."""
# Number of samples per side that are shown as points.
_POINTS = 7


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One of the four pixels around a sample."""

    # Position in the picture, 0-based.
    column: int
    row: int
    # Grey value, 0..255. It is 0 outside the picture.
    value: float
    # Interpolation weight, 0..1.
    weight: float

    @property
    def product(self) -> float:
        """Contribution of the pixel to the sample."""
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Sample:
    """One pixel of the output, its position in the picture, and the pixels around it."""

    # Position in the output, 0-based.
    row: int
    column: int
    # Position in the picture.
    x: float
    y: float
    neighbours: Sequence[Neighbour]

    @property
    def name(self) -> str:
        """Name of the output pixel."""
        return f"sample of output row {self.row + 1}, column {self.column + 1}"

    @property
    def total(self) -> float:
        """Weighted sum of the neighbours' values, 0..255."""
        return sum(neighbour.product for neighbour in self.neighbours)


def map_to_picture(
    corners_42: FloatArray,
    side: int,
    pixels_P2: npt.ArrayLike,
) -> FloatArray:
    """Map pixels (row, column) of the output to the picture: float32 [P, 2] as (x, y)."""
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
    """Return the position and the interpolation of output pixel `index`, counted row by row.

    Values are means over the colour channels.
    """
    row, column = divmod(index, side)
    x, y = map_to_picture(corners_42, side, [(row, column)])[0].tolist()
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
    """The finest scale of one step of a spatial transformer."""

    picture: Pixels
    # The visible part of the picture, in pixels of the picture.
    box: Box
    # Corners of the quadrilateral in pixels of the picture: float32 [4, 2].
    corners: FloatArray
    # Positions of some samples in the picture and in the output, in pixels: float32 [P, 2].
    points: FloatArray
    dots: FloatArray
    # The output: uint8 [S, S].
    seen: Pixels
    # The sample, in pixels of the network's input, see `gaze_steps.get_source`.
    sample: Sample
    # Position (x, y) of the sample in the picture.
    middle: tuple[float, float]
    # Value that the model received for the sample, 0..255.
    read: int

    @property
    def edges(self) -> FloatArray:
        """Corners of the output in its own pixels, in the order of `corners`: [4, 2]."""
        side = len(self.seen)
        return np.array([[0, 0], [side, 0], [side, side], [0, side]], dtype=np.float32)

    @property
    def sum_lines(self) -> tuple[str, ...]:
        """Description of the sample and its weighted sum, as short lines."""
        one = self.sample
        terms = [f"{n.value:.0f} × {n.weight:.2f}" for n in one.neighbours]
        return (
            f"Row {one.row + 1}, column {one.column + 1} of what was",
            f"read lies at {one.x:.2f}, {one.y:.2f} px:",
            f"{terms[0]} + {terms[1]}",
            f"+ {terms[2]} + {terms[3]}",
            f"= {one.total:.0f}; the model read {self.read}",
        )


def find_sampling(trace: Trace, focus: Focus) -> Sampling:
    """Return the data to draw for the focused pixel of the output.

    Pixels are counted row by row, step after step. The default is the middle pixel of the first
    step.
    """
    gaze, picture = trace.gazes[focus.site], get_picture(trace)
    side = gaze.seen.shape[2]
    item = focus.items[0] if focus.items else (side // 2) * (side + 1)
    look, index = divmod(item, side**2)
    corners, seen = gaze.corners[look, 0], gaze.seen[look, 0]
    source, in_source = get_source(trace, corners)
    chosen = sample(source, in_source, side, index)
    x, y = map_to_picture(corners, side, [(chosen.row, chosen.column)])[0].tolist()
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
        title=f"What the spatial transformer cut out{_name_step(look, len(gaze.seen))}",
        note=note,
        caption=figure_caption(trace, focus),
        picture=picture,
        box=compute_view_box(picture, corners, 1.0),
        corners=corners,
        points=map_to_picture(corners, side, pixels_P2),
        dots=(pixels_P2[:, ::-1] + 0.5).astype(np.float32),
        seen=seen,
        sample=chosen,
        middle=(x, y),
        read=int(seen[chosen.row, chosen.column]),
    )


def _name_step(look: int, looks: int) -> str:
    """Return a phrase for the step, or "" if there is only one step."""
    return f", look {look + 1} of {looks}" if looks > 1 else ""


def tabulate(drawn: Sampling) -> Table:
    """Return a table of the corners, the sample's position, and its four pixels.

    Each pixel has its value, weight and product. Rows and columns count from 1.
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
