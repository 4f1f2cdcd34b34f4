"""A picture with lines over it, in pixels of the picture, for the screen and for paper."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import pictures, theme
from areaviz.drawing.pictures import CASING, Box, Pixels
from areaviz.trace.record import FloatArray

Domain = tuple[float, float]
"""From and to, in shares of a figure's side."""

_LONGEST = 480
_CASING = 2.0
"""How much wider the dark edge of a line is, in px or pt."""
_FAINT_CASING = "rgba(17,17,17,0.3)"


def lay(figure: Figure, pixels: Pixels, axis: str = "") -> None:
    """Lay a picture into a screen figure; axis: "" for the first pair of axes, "2" for the second,
    and so on.
    """
    height, width = pixels.shape[:2]
    place = {
        "x": 0,
        "y": 0,
        "sizex": width,
        "sizey": height,
        "xref": f"x{axis}",
        "yref": f"y{axis}",
    }
    source = pictures.uri(pictures.fitted(pixels, _LONGEST))
    figure.add_layout_image(source=source, sizing="stretch", layer="below", **place)
    frame = {"x0": 0, "y0": 0, "x1": width, "y1": height, "xref": f"x{axis}", "yref": f"y{axis}"}
    figure.add_shape(type="rect", line={"color": theme.EDGE, "width": 1}, **frame)


def axes(figure: Figure, box: Box, axis: str = "", x: Domain = (0, 1), y: Domain = (0, 1)) -> None:
    """Unseen axes that show `box` (pixels of the picture) without distortion, in shares of the
    figure's sides.
    """
    left, top, right, bottom = box
    common = {"visible": False, "constrain": "domain", "fixedrange": True}
    across = common | {"range": [left, right], "domain": x, "anchor": f"y{axis}"}
    down = common | {
        "range": [bottom, top],
        "domain": y,
        "scaleanchor": f"x{axis}",
        "anchor": f"x{axis}",
    }
    figure.update_layout({f"xaxis{axis}": across, f"yaxis{axis}": down})


def cased(
    points_P2: FloatArray,
    colour: str,
    width: float,
    opacity: float = 1,
    dash: str = "solid",
    axis: str = "",
) -> list[Scatter]:
    """A line through points (x, y) [P, 2] with a dark edge, so that it shows on any picture."""
    x, y = points_P2.T
    style = {
        "x": x,
        "y": y,
        "mode": "lines",
        "opacity": opacity,
        "hoverinfo": "skip",
        "showlegend": False,
    }
    style |= {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
    edge = CASING if dash == "solid" else _FAINT_CASING
    lines = (
        {"color": edge, "width": width + _CASING},
        {"color": colour, "width": width, "dash": dash},
    )
    return [Scatter(line=line, **style) for line in lines]


def print_axes(axes: Axes, pixels: Pixels, box: Box) -> None:
    """The picture on paper, with what `box` shows."""
    height, width = pixels.shape[:2]
    axes.imshow(
        pixels,
        extent=(0, width, height, 0),
        interpolation="nearest" if max(height, width) < 200 else "auto",
    )
    axes.add_patch(
        Rectangle((0, 0), width, height, fill=False, edgecolor=theme.PRINT_EDGE, linewidth=0.5)
    )
    left, top, right, bottom = box
    axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal")


def print_cased(
    axes: Axes,
    points_P2: FloatArray,
    colour: str,
    width: float,
    opacity: float = 1,
    dash: str = "-",
) -> None:
    """A line on paper with a dark edge."""
    x, y = points_P2.T
    axes.plot(
        x,
        y,
        color=CASING,
        linewidth=width + 0.6 * _CASING,
        alpha=opacity * (1 if dash == "-" else 0.3),
    )
    axes.plot(x, y, color=colour, linewidth=width, alpha=opacity, linestyle=dash)
