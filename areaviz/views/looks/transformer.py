"""The view of a spatial transformer: its quadrilateral, and the sampling of one pixel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import numpy.typing as npt

from areaviz.draw.marks import Frame, Mark, Panel, Plot, Points, Stroke, Symbol, Texts
from areaviz.draw.pictures import CASING, Box, Pixels, gray_to_rgb
from areaviz.draw.theme import EDGE, SECOND, Drawing
from areaviz.draw.tiles import draw_cased_line, make_picture_marks, make_stage_axes
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.looks.looks import (
    choose_ink,
    compute_view_box,
    fits_transformer,
    get_picture,
    get_source,
)

# Data of the view of a spatial transformer: its quadrilateral, its output, and some samples.
#
# A spatial transformer interpolates each pixel of its output from four pixels of the picture
# (Jaderberg et al. 2015, Eq. 5). Positions are (x, y) in pixels of the picture, measured from its
# outer top left corner, so the first pixel's centre is (0.5, 0.5). Shapes: S side of the output, P
# positions, H and W of the picture.


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


def map_to_picture(corners_42: FloatArray, side: int, pixels_P2: npt.ArrayLike) -> FloatArray:
    """Map pixels (row, column) of the output to the picture: float32 [P, 2] as (x, y)."""
    first, right, _, down = corners_42
    share_P2 = (np.asarray(pixels_P2) + 0.5) / side
    across_P2, along_P2 = share_P2[:, 1:] * (right - first), share_P2[:, :1] * (down - first)
    found_P2: FloatArray = (first + across_P2 + along_P2).astype(np.float32)
    return found_P2


def sample(picture_HWC: Pixels, corners_42: FloatArray, side: int, index: int) -> Sample:
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
    # The sample, in pixels of the network's input, see `get_source`.
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


# View of the quadrilateral that a spatial transformer read, and of the sampling of one pixel.


_PANELS = ("the picture", "what was read", "one sample")
# Start and end of each panel, as shares of the figure's width and height.
_COLUMNS = ((0.0, 0.49), (0.51, 1.0), (0.0, 0.49))
_ROWS = ((0.45, 1.0), (0.45, 1.0), (0.0, 0.37))
_POINT, _OUTLINE = "#56B4E9", "#FFFFFF"
_SHAPES: tuple[Symbol, ...] = ("circle", "square", "diamond", "triangle-up")
# Indices that close a quadrilateral's outline.
_CLOSED = [0, 1, 2, 3, 0]


def plot(drawn: Sampling) -> Plot:
    """Draw the picture, the output, and the pixels of one sample with their sum."""
    cross = Stroke("#FFFFFF", (1.2, 0.7))
    hover = f"{drawn.sample.name}\nread: {drawn.read}"
    sums = ("", "", "\n".join(drawn.sum_lines))
    whole = [*make_picture_marks(drawn.picture), *_draw_outline(drawn.corners, drawn.points)]
    seen = [*make_picture_marks(gray_to_rgb(drawn.seen)), *_draw_outline(drawn.edges, drawn.dots)]
    panels = []
    parts = zip(
        (whole, seen, _draw_zoom(drawn)), _list_boxes(drawn), _list_crosses(drawn), strict=True
    )
    for number, (marks, box, (x, y)) in enumerate(parts):
        across, down = make_stage_axes(box)
        sample = Points([x], [y], (11, 6.48), SECOND, cross, symbol="x", hovers=[hover])
        panel = Panel(
            marks=[*marks, sample],
            across=across,
            down=down,
            is_square=True,
            columns=_COLUMNS[number],
            rows=_ROWS[number],
            title=_PANELS[number],
            aside=sums[number],
        )
        panels.append(panel)
    return Plot(drawing=drawn, panels=panels, height=(520, 3.0), above=24, below=8)


def _draw_outline(corners_42: FloatArray, points_P2: FloatArray) -> Iterator[Mark]:
    """Draw the quadrilateral with its corners and some sample points.

    Each corner has its own colour and shape, so that readers find it in both panels.
    """
    yield draw_cased_line(corners_42[_CLOSED], _OUTLINE, (1.6, 1))
    x, y = points_P2.T
    yield Points(x, y, (5, 2.24), _POINT, Stroke(CASING, (1, 0.5)))
    for place, name, colour, shape in zip(
        corners_42.tolist(), CORNERS, COLOURS, _SHAPES, strict=True
    ):
        left, top = place
        yield Points(
            [left],
            [top],
            (13, 6.32),
            colour,
            Stroke(CASING, (1.5, 1)),
            symbol=shape,
            hovers=[f"{name} corner\n{left:.1f}, {top:.1f} px"],
            may_overhang=True,
        )


def _list_boxes(drawn: Sampling) -> tuple[Box, Box, Box]:
    """Return the visible part of each panel, in its own pixels."""
    side, first = len(drawn.seen), drawn.sample.neighbours[0]
    edge = 0.06 * side
    zoom = (first.column - 0.1, first.row - 0.1, first.column + 2.1, first.row + 2.1)
    return drawn.box, (-edge, -edge, side + edge, side + edge), zoom


def _list_crosses(drawn: Sampling) -> tuple[tuple[float, float], ...]:
    """Return the position of the sample in each panel."""
    one = drawn.sample
    return drawn.middle, (one.column + 0.5, one.row + 0.5), (one.x, one.y)


def _draw_zoom(drawn: Sampling) -> Iterator[Mark]:
    """Draw the four pixels, and a square of one pixel around the sample.

    The overlaps of the square with the pixels are the interpolation weights.
    """
    first = drawn.sample.neighbours[0]
    x, y, texts, greys = [], [], [], []
    for pixel in drawn.sample.neighbours:
        grey = "#{0:02x}{0:02x}{0:02x}".format(round(pixel.value))
        yield Frame(pixel.column, pixel.row, 1, 1, Stroke(EDGE, (1, 0.6)), fill=grey)
        # Keep the texts away from the sample, which is between the pixels.
        x.append(pixel.column + (0.58 if pixel.column > first.column else 0.42))
        y.append(pixel.row + (0.86 if pixel.row > first.row else 0.14))
        texts.append(f"{pixel.value:.0f} × {pixel.weight:.2f}")
        greys.append(grey)
    square = Stroke(SECOND, (2, 1.2), "dot")
    yield Frame(drawn.sample.x - 0.5, drawn.sample.y - 0.5, 1, 1, square)
    yield Texts(x, y, texts, colours=[choose_ink(grey) for grey in greys], grounds=greys)


VIEW = view_of_marks(
    "transformer",
    "Sampling grid",
    "Which region was cropped, and how was it straightened?",
    fits_transformer,
    find_sampling,
    plot,
    tabulate,
    how_to_read=(
        "The outline marks the cropped region. Next to it is the straightened crop that the"
        " model read."
    ),
)
