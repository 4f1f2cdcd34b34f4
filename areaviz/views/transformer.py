"""The sampling grid: which quadrilateral of a picture a spatial transformer read, and how it read
one pixel.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import gazes, pictures, stage, theme
from areaviz.drawing.base import Table, View
from areaviz.drawing.pictures import CASING, Box
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.sampling import (
    COLOURS,
    CORNERS,
    PANELS,
    TITLE,
    Sampling,
    sampling,
    sampling_table,
)

_SHAPES, _PRINT_SHAPES = ("circle", "square", "diamond", "triangle-up"), "osD^"
_PLACES = (((0.0, 0.49), (0.45, 1.0)), ((0.51, 1.0), (0.45, 1.0)), ((0.0, 0.49), (0.0, 0.37)))
"""Where the panels stand: their shares of the figure's width and height."""
_HEIGHT = 520
_POINT = "#56B4E9"


def figure(trace: Trace, focus: Focus) -> Figure:
    """Above the picture with the grid and what was read, below the four pixels behind one sample
    and their sum.
    """
    drawn = sampling(trace, focus)
    result = theme.screen(TITLE, drawn.note, drawn.caption, _HEIGHT, above=24, below=8)
    for axis, (x, y), box in zip(("", "2", "3"), _PLACES, _boxes(drawn), strict=True):
        stage.axes(result, box, axis, x, y)
    stage.lay(result, drawn.picture)
    stage.lay(result, pictures.coloured(drawn.seen), "2")
    edge = drawn.edges[[0, 1, 2, 3, 0]]
    result.add_traces(stage.cased(drawn.outline, "#FFFFFF", 1.6))
    result.add_traces(stage.cased(edge, "#FFFFFF", 1.6, axis="2"))
    result.add_traces([_dots(drawn.points.tolist(), ""), _dots(drawn.dots.tolist(), "2")])
    result.add_traces([*_corners(drawn.corners.tolist(), ""), *_corners(drawn.edges.tolist(), "2")])
    one = drawn.sample
    hover = f"sample of output row {one.row + 1}, column {one.column + 1}<br>read: {drawn.read}"
    marks = (("", *drawn.middle), ("2", one.column + 0.5, one.row + 0.5), ("3", one.x, one.y))
    result.add_traces([_cross(x, y, axis, hover) for axis, x, y in marks])
    _zoom(result, drawn)
    _name(result, drawn)
    return result


def _boxes(drawn: Sampling) -> tuple[Box, Box, Box]:
    """What each panel shows, in its own pixels."""
    side, first = len(drawn.seen), drawn.sample.neighbours[0]
    edge = 0.06 * side
    zoom = (first.column - 0.1, first.row - 0.1, first.column + 2.1, first.row + 2.1)
    return drawn.box, (-edge, -edge, side + edge, side + edge), zoom


def _dots(points: list[list[float]], axis: str) -> Scatter:
    x, y = zip(*points, strict=True)
    marker = {"size": 5, "color": _POINT, "line": {"color": CASING, "width": 1}}
    return Scatter(
        x=x,
        y=y,
        mode="markers",
        marker=marker,
        hoverinfo="skip",
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
    )


def _corners(points: list[list[float]], axis: str) -> list[Scatter]:
    return [
        Scatter(
            x=[x],
            y=[y],
            mode="markers",
            marker={
                "symbol": shape,
                "size": 13,
                "color": colour,
                "line": {"color": CASING, "width": 1.5},
            },
            hovertemplate=f"{name} corner<br>%{{x:.1f}}, %{{y:.1f}} px<extra></extra>",
            cliponaxis=False,
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
        )
        for (x, y), name, colour, shape in zip(points, CORNERS, COLOURS, _SHAPES, strict=True)
    ]


def _cross(x: float, y: float, axis: str, hover: str) -> Scatter:
    marker = {
        "symbol": "x",
        "size": 11,
        "color": theme.SECOND,
        "line": {"color": "#FFFFFF", "width": 1.2},
    }
    place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
    return Scatter(
        x=[x],
        y=[y],
        mode="markers",
        marker=marker,
        hovertemplate=f"{hover}<extra></extra>",
        **place,
    )


def _zoom(result: Figure, drawn: Sampling) -> None:
    """The four pixels with value and weight, and the square of one pixel around the sample:
    overlaps are weights.
    """
    for (left, top), grey, text, (x, y) in _cells(drawn):
        line = {"color": theme.EDGE, "width": 1}
        sides = {"x0": left, "y0": top, "x1": left + 1, "y1": top + 1, "xref": "x3", "yref": "y3"}
        result.add_shape(type="rect", fillcolor=grey, line=line, layer="below", **sides)
        font = {"color": gazes.ink_on(grey), "size": 12}
        result.add_annotation(
            x=x, y=y, text=text, xref="x3", yref="y3", showarrow=False, font=font, bgcolor=grey
        )
    one = drawn.sample
    square = {
        "x0": one.x - 0.5,
        "y0": one.y - 0.5,
        "x1": one.x + 0.5,
        "y1": one.y + 0.5,
        "xref": "x3",
        "yref": "y3",
    }
    result.add_shape(type="rect", line={"color": theme.SECOND, "width": 2, "dash": "dot"}, **square)


def _cells(drawn: Sampling) -> list[tuple[tuple[int, int], str, str, tuple[float, float]]]:
    """Left top corner, grey, text and place of the text of each of the four pixels; texts keep
    clear of the sample.
    """
    first = drawn.sample.neighbours[0]
    cells = []
    for pixel in drawn.sample.neighbours:
        right, lower = pixel.column - first.column, pixel.row - first.row
        grey = "#{0:02x}{0:02x}{0:02x}".format(round(pixel.value))
        place = (pixel.column + (0.58 if right else 0.42), pixel.row + (0.86 if lower else 0.14))
        cells.append(
            ((pixel.column, pixel.row), grey, f"{pixel.value:.0f} × {pixel.weight:.2f}", place)
        )
    return cells


def _name(result: Figure, drawn: Sampling) -> None:
    """The panels' names above them, the sum beside the last."""
    for name, ((start, end), (_, top)) in zip(PANELS, _PLACES, strict=True):
        place = {
            "x": (start + end) / 2,
            "y": top,
            "xanchor": "center",
            "yanchor": "bottom",
            "yshift": 3,
        }
        font = {"size": 12, "weight": 600}
        result.add_annotation(
            text=name, showarrow=False, font=font, xref="paper", yref="paper", **place
        )
    place = {
        "x": 0.53,
        "y": 0.185,
        "xanchor": "left",
        "yanchor": "middle",
        "xref": "paper",
        "yref": "paper",
    }
    lines = "<br>".join(drawn.sum_lines)
    result.add_annotation(text=lines, showarrow=False, align="left", font={"size": 12}, **place)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = sampling(trace, focus)
    result, axes = theme.paper(TITLE, drawn.note, drawn.caption, 3.0)
    axes.remove()
    panels = list(result.subplots(1, 3))
    for panel, name, box, pixels in zip(
        panels, PANELS, _boxes(drawn), (drawn.picture, drawn.seen, None), strict=True
    ):
        panel.spines[:].set_visible(False)
        panel.set_title(name, fontsize=8, fontweight="bold")
        if pixels is not None:
            stage.print_axes(panel, pixels if pixels.ndim == 3 else pictures.coloured(pixels), box)
    for panel, outline, points, corners in (
        (panels[0], drawn.outline, drawn.points, drawn.corners),
        (panels[1], drawn.edges[[0, 1, 2, 3, 0]], drawn.dots, drawn.edges),
    ):
        stage.print_cased(panel, outline, "#FFFFFF", 1)
        panel.scatter(*points.T, 5, color=_POINT, edgecolors=CASING, linewidths=0.5, zorder=3)
        for (x, y), colour, shape in zip(corners.tolist(), COLOURS, _PRINT_SHAPES, strict=True):
            panel.scatter(
                x, y, 40, color=colour, marker=shape, edgecolors=CASING, zorder=4, clip_on=False
            )
    _print_zoom(panels[2], drawn)
    one = drawn.sample
    marks = (drawn.middle, (one.column + 0.5, one.row + 0.5), (one.x, one.y))
    for panel, (x, y) in zip(panels, marks, strict=True):
        panel.scatter(
            x, y, 42, color=theme.SECOND, marker="X", edgecolors="white", linewidths=0.7, zorder=5
        )
    panels[2].set_xlabel("\n".join(drawn.sum_lines), fontsize=6.5, loc="left")
    return theme.finish(result)


def _print_zoom(axes: Axes, drawn: Sampling) -> None:
    left, top, right, bottom = _boxes(drawn)[2]
    for corner, grey, text, (x, y) in _cells(drawn):
        axes.add_patch(
            Rectangle(corner, 1, 1, facecolor=grey, edgecolor=theme.PRINT_EDGE, linewidth=0.6)
        )
        ground = {"facecolor": grey, "edgecolor": "none", "pad": 1}
        shown: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontsize": theme.PRINT_FONT,
            "zorder": 4,
        }
        axes.text(x, y, text, color=gazes.ink_on(grey), bbox=ground, **shown)
    around = (drawn.sample.x - 0.5, drawn.sample.y - 0.5)
    axes.add_patch(
        Rectangle(around, 1, 1, fill=False, edgecolor=theme.SECOND, linestyle=":", linewidth=1.2)
    )
    axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal")


def table(trace: Trace, focus: Focus) -> Table:
    """The numbers: corners, sample, neighbours and their sum."""
    return sampling_table(trace, focus)


VIEW = View(
    name="transformer",
    title="Sampling grid",
    question="Which part of the picture was cut out, and how was it straightened?",
    fits=gazes.sampling_fits,
    figure=figure,
    table=table,
    print=paper,
)
