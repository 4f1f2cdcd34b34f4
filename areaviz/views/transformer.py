"""Sampling grid: which quadrilateral a spatial transformer read, and how it read one pixel."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing.base import view
from areaviz.drawing.gazes import fits_transformer, ink_on
from areaviz.drawing.pictures import CASING, Box, gray_to_rgb
from areaviz.drawing.stage import (
    add_picture,
    cased,
    picture_axes,
    print_cased,
    print_picture,
    show_box,
)
from areaviz.drawing.theme import (
    EDGE,
    PRINT_EDGE,
    PRINT_FONT,
    SCREEN_FONT,
    SECOND,
    Layout,
    print_figure,
    screen_figure,
)
from areaviz.trace.record import FloatArray
from areaviz.views.sampling import COLOURS, CORNERS, Sampling, sampling, table

_PANELS = ("the picture", "what was read", "one sample")
# Start and end of each panel, as shares of the figure's width and height.
_COLUMNS = ((0.0, 0.49), (0.51, 1.0), (0.0, 0.49))
_ROWS = ((0.45, 1.0), (0.45, 1.0), (0.0, 0.37))
_POINT, _OUTLINE = "#56B4E9", "#FFFFFF"
# Indices that close a quadrilateral's outline.
_CLOSED = [0, 1, 2, 3, 0]


def figure(drawn: Sampling) -> Figure:
    """Draw the picture and the output above, the pixels of one sample and their sum below."""
    result = screen_figure(drawn, 520, above=24, below=8)
    boxes = _boxes(drawn)
    for axis, column, row, box in zip(("", "2", "3"), _COLUMNS, _ROWS, boxes, strict=True):
        picture_axes(result, box, axis, column, row)
    add_picture(result, drawn.picture)
    add_picture(result, gray_to_rgb(drawn.seen), "2")
    result.add_traces(cased(drawn.corners[_CLOSED], _OUTLINE, 1.6))
    result.add_traces(cased(drawn.edges[_CLOSED], _OUTLINE, 1.6, axis="2"))
    dot = {"size": 5, "color": _POINT, "line": {"color": CASING, "width": 1}}
    for points, axis in ((drawn.points, ""), (drawn.dots, "2")):
        x, y = points.T.tolist()
        result.add_trace(_mark(x, y, axis, dot, hoverinfo="skip"))
    result.add_traces([*_corners(drawn.corners, ""), *_corners(drawn.edges, "2")])
    cross = {"symbol": "x", "size": 11, "color": SECOND, "line": {"color": "#FFFFFF", "width": 1.2}}
    hover = f"{drawn.sample.name}<br>read: {drawn.read}<extra></extra>"
    for (x, y), axis in zip(_crosses(drawn), ("", "2", "3"), strict=True):
        result.add_trace(_mark([x], [y], axis, cross, hovertemplate=hover))
    _zoom(result, drawn)
    _write(result, drawn)
    return result


def _mark(x: list[float], y: list[float], axis: str, marker: Layout, **more: object) -> Scatter:
    """Return markers in one of the panels."""
    axes = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
    return Scatter(x=x, y=y, mode="markers", marker=marker, **axes, **more)


def _corners(places_42: FloatArray, axis: str) -> Iterator[Scatter]:
    """Yield a marker for every corner, with equal colour and shape in both panels."""
    shapes = ("circle", "square", "diamond", "triangle-up")
    looks = zip(places_42.tolist(), CORNERS, COLOURS, shapes, strict=True)
    for (x, y), name, colour, shape in looks:
        line = {"color": CASING, "width": 1.5}
        marker = {"symbol": shape, "size": 13, "color": colour, "line": line}
        hover = f"{name} corner<br>%{{x:.1f}}, %{{y:.1f}} px<extra></extra>"
        yield _mark([x], [y], axis, marker, hovertemplate=hover, cliponaxis=False)


def _boxes(drawn: Sampling) -> tuple[Box, Box, Box]:
    """Return the visible part of each panel, in its own pixels."""
    side, first = len(drawn.seen), drawn.sample.neighbours[0]
    edge = 0.06 * side
    zoom = (first.column - 0.1, first.row - 0.1, first.column + 2.1, first.row + 2.1)
    return drawn.box, (-edge, -edge, side + edge, side + edge), zoom


def _crosses(drawn: Sampling) -> tuple[tuple[float, float], ...]:
    """Return the position of the sample in each panel."""
    one = drawn.sample
    return drawn.middle, (one.column + 0.5, one.row + 0.5), (one.x, one.y)


def _cells(drawn: Sampling) -> Iterator[tuple[int, int, str, str, float, float]]:
    """Yield the left and top edges, colour, text and text position of each of the four pixels.

    The texts keep clear of the sample, which is between the pixels.
    """
    first = drawn.sample.neighbours[0]
    for pixel in drawn.sample.neighbours:
        grey = "#{0:02x}{0:02x}{0:02x}".format(round(pixel.value))
        text = f"{pixel.value:.0f} × {pixel.weight:.2f}"
        x = pixel.column + (0.58 if pixel.column > first.column else 0.42)
        y = pixel.row + (0.86 if pixel.row > first.row else 0.14)
        yield pixel.column, pixel.row, grey, text, x, y


def _zoom(result: Figure, drawn: Sampling) -> None:
    """Draw the four pixels, and a square of one pixel around the sample.

    The overlaps of the square with the pixels are the interpolation weights.
    """
    axes = {"xref": "x3", "yref": "y3"}
    line = {"color": EDGE, "width": 1}
    for left, top, grey, text, x, y in _cells(drawn):
        sides = {"x0": left, "y0": top, "x1": left + 1, "y1": top + 1}
        result.add_shape(type="rect", fillcolor=grey, line=line, layer="below", **sides, **axes)
        font = {"color": ink_on(grey), "size": SCREEN_FONT}
        result.add_annotation(x=x, y=y, text=text, showarrow=False, font=font, bgcolor=grey, **axes)
    x, y = drawn.sample.x, drawn.sample.y
    square = {"x0": x - 0.5, "y0": y - 0.5, "x1": x + 0.5, "y1": y + 0.5}
    line = {"color": SECOND, "width": 2, "dash": "dot"}
    result.add_shape(type="rect", line=line, **square, **axes)


def _write(result: Figure, drawn: Sampling) -> None:
    """Write the panels' names above them, and the sum next to the last panel."""
    paper = {"xref": "paper", "yref": "paper", "showarrow": False}
    for name, (left, right), (_, top) in zip(_PANELS, _COLUMNS, _ROWS, strict=True):
        result.add_annotation(
            text=name,
            font={"size": SCREEN_FONT, "weight": 600},
            x=(left + right) / 2,
            y=top,
            xanchor="center",
            yanchor="bottom",
            yshift=3,
            **paper,
        )
    result.add_annotation(
        text="<br>".join(drawn.sum_lines),
        font={"size": SCREEN_FONT},
        align="left",
        x=0.53,
        y=0.185,
        xanchor="left",
        yanchor="middle",
        **paper,
    )


def paper(drawn: Sampling) -> PrintFigure:
    """Draw the figure for print."""
    result, axes = print_figure(drawn, 3.0)
    axes.remove()
    panels = list(result.subplots(1, 3))
    for panel, name, (x, y) in zip(panels, _PANELS, _crosses(drawn), strict=True):
        panel.spines[:].set_visible(False)
        panel.set_title(name, fontsize=8, fontweight="bold")
        panel.scatter(
            x, y, 42, color=SECOND, marker="X", edgecolors="white", linewidths=0.7, zorder=5
        )
    whole, seen, zoom = panels
    whole_box, seen_box, zoom_box = _boxes(drawn)
    print_picture(whole, drawn.picture, whole_box)
    print_picture(seen, gray_to_rgb(drawn.seen), seen_box)
    _print_outline(whole, drawn.corners, drawn.points)
    _print_outline(seen, drawn.edges, drawn.dots)
    for left, top, grey, text, x, y in _cells(drawn):
        zoom.add_patch(
            Rectangle((left, top), 1, 1, facecolor=grey, edgecolor=PRINT_EDGE, linewidth=0.6)
        )
        zoom.text(
            x,
            y,
            text,
            color=ink_on(grey),
            bbox={"facecolor": grey, "edgecolor": "none", "pad": 1},
            ha="center",
            va="center",
            fontsize=PRINT_FONT,
            zorder=4,
        )
    corner = (drawn.sample.x - 0.5, drawn.sample.y - 0.5)
    zoom.add_patch(
        Rectangle(corner, 1, 1, fill=False, edgecolor=SECOND, linestyle=":", linewidth=1.2)
    )
    show_box(zoom, zoom_box)
    zoom.set_xlabel("\n".join(drawn.sum_lines), fontsize=6.5, loc="left")
    return result


def _print_outline(axes: Axes, corners_42: FloatArray, points_P2: FloatArray) -> None:
    """Draw the quadrilateral in one of the panels on paper, with its corners and points."""
    print_cased(axes, corners_42[_CLOSED], _OUTLINE, 1)
    across, down = points_P2.T
    axes.scatter(across, down, 5, color=_POINT, edgecolors=CASING, linewidths=0.5, zorder=3)
    for (x, y), colour, shape in zip(corners_42.tolist(), COLOURS, "osD^", strict=True):
        axes.scatter(
            x, y, 40, color=colour, marker=shape, edgecolors=CASING, zorder=4, clip_on=False
        )


VIEW = view(
    "transformer",
    "Sampling grid",
    "Which region was cropped, and how was it straightened?",
    fits_transformer,
    sampling,
    figure,
    table,
    paper,
    how_to_read=(
        "The outline marks the cropped region. Next to it is the straightened crop that the"
        " model read."
    ),
)
