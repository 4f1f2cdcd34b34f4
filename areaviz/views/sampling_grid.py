"""View of the quadrilateral that a spatial transformer read, and of the sampling of one pixel."""

from __future__ import annotations

from collections.abc import Iterator

from areaviz.draw.marks import Frame, Mark, Panel, Plot, Points, Stroke, Symbol, Texts
from areaviz.draw.pictures import CASING, Box, gray_to_rgb
from areaviz.draw.theme import EDGE, SECOND
from areaviz.draw.tiles import draw_cased_line, make_picture_marks, make_stage_axes
from areaviz.draw.view import view_of_marks
from areaviz.drawing.gaze_steps import choose_ink, fits_transformer
from areaviz.trace.areas import FloatArray
from areaviz.views.sampling_grid_data import COLOURS, CORNERS, Sampling, find_sampling, tabulate

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
        sample = Points(
            [x],
            [y],
            (11, 6.48),
            SECOND,
            cross,
            symbol="x",
            hovers=[hover],
        )
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
    return Plot(
        drawing=drawn,
        panels=panels,
        height=(520, 3.0),
        above=24,
        below=8,
    )


def _draw_outline(corners_42: FloatArray, points_P2: FloatArray) -> Iterator[Mark]:
    """Draw the quadrilateral with its corners and some sample points.

    Each corner has its own colour and shape, so that readers find it in both panels.
    """
    yield draw_cased_line(corners_42[_CLOSED], _OUTLINE, (1.6, 1))
    x, y = points_P2.T
    yield Points(
        x,
        y,
        (5, 2.24),
        _POINT,
        Stroke(CASING, (1, 0.5)),
    )
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
        yield Frame(
            pixel.column,
            pixel.row,
            1,
            1,
            Stroke(EDGE, (1, 0.6)),
            fill=grey,
        )
        # Keep the texts away from the sample, which is between the pixels.
        x.append(pixel.column + (0.58 if pixel.column > first.column else 0.42))
        y.append(pixel.row + (0.86 if pixel.row > first.row else 0.14))
        texts.append(f"{pixel.value:.0f} × {pixel.weight:.2f}")
        greys.append(grey)
    square = Stroke(SECOND, (2, 1.2), "dot")
    yield Frame(
        drawn.sample.x - 0.5,
        drawn.sample.y - 0.5,
        1,
        1,
        square,
    )
    yield Texts(
        x,
        y,
        texts,
        colours=[choose_ink(grey) for grey in greys],
        grounds=greys,
    )


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
