"""A picture with lines on it, in pixels of the picture, for the screen and for print."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing.pictures import CASING, Box, Pixels, shrink_to_fit, to_data_uri
from areaviz.drawing.theme import EDGE, PRINT_EDGE, unseen_axis
from areaviz.trace.record import FloatArray

Domain = tuple[float, float]
"""Start and end, in shares of a figure's side."""

# Additional width of a line's dark edge, in px or pt.
_CASING = 2.0


def add_picture(
    figure: Figure,
    pixels: Pixels,
    axis: str = "",
) -> None:
    """Add a picture to a screen figure.

    Args:
        figure: the figure.
        pixels: the picture.
        axis: "" for the first pair of axes, "2" for the second, and so on.
    """
    height, width = pixels.shape[:2]
    axes = {"xref": f"x{axis}", "yref": f"y{axis}"}
    figure.add_layout_image(
        source=to_data_uri(shrink_to_fit(pixels, 480)),
        x=0,
        y=0,
        sizex=width,
        sizey=height,
        sizing="stretch",
        layer="below",
        **axes,
    )
    line = {"color": EDGE, "width": 1}
    figure.add_shape(
        type="rect",
        x0=0,
        y0=0,
        x1=width,
        y1=height,
        line=line,
        **axes,
    )


def picture_axes(
    figure: Figure,
    box: Box,
    axis: str = "",
    x: Domain = (0, 1),
    y: Domain = (0, 1),
) -> None:
    """Set invisible axes that show `box` (pixels of the picture) without distortion.

    Args:
        figure: the figure.
        box: left, top, right and bottom.
        axis: "" for the first pair of axes, "2" for the second, and so on.
        x: horizontal position, in shares of the figure's width.
        y: vertical position, in shares of the figure's height.
    """
    left, top, right, bottom = box
    across = unseen_axis(left, right)
    across |= {
        "constrain": "domain",
        "domain": x,
        "anchor": f"y{axis}",
    }
    down = unseen_axis(bottom, top)
    down |= {
        "constrain": "domain",
        "domain": y,
        "anchor": f"x{axis}",
        "scaleanchor": f"x{axis}",
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
    """Draw a line through points (x, y) [P, 2], with a dark edge to be visible on any picture."""
    x, y = points_P2.T
    edge = CASING if dash == "solid" else "rgba(17,17,17,0.3)"
    return [
        Scatter(
            x=x,
            y=y,
            mode="lines",
            line=line,
            opacity=opacity,
            hoverinfo="skip",
            showlegend=False,
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
        )
        for line in (
            {"color": edge, "width": width + _CASING},
            {
                "color": colour,
                "width": width,
                "dash": dash,
            },
        )
    ]


def print_picture(
    axes: Axes,
    pixels: Pixels,
    box: Box,
) -> None:
    """Draw a picture in print, cropped or extended to `box`."""
    height, width = pixels.shape[:2]
    smoothing = "nearest" if max(height, width) < 200 else "auto"
    axes.imshow(pixels, extent=(0, width, height, 0), interpolation=smoothing)
    axes.add_patch(
        Rectangle(
            (0, 0),
            width,
            height,
            fill=False,
            edgecolor=PRINT_EDGE,
            linewidth=0.5,
        )
    )
    show_box(axes, box)


def show_box(axes: Axes, box: Box) -> None:
    """Set axes in print to show `box` without ticks and distortion."""
    left, top, right, bottom = box
    axes.set(
        xlim=(left, right),
        ylim=(bottom, top),
        xticks=[],
        yticks=[],
        aspect="equal",
    )


def print_cased(
    axes: Axes,
    points_P2: FloatArray,
    colour: str,
    width: float,
    opacity: float = 1,
    dash: str = "-",
) -> None:
    """Draw a line in print with a dark edge."""
    x, y = points_P2.T
    faint = opacity if dash == "-" else 0.3 * opacity
    axes.plot(
        x,
        y,
        color=CASING,
        linewidth=width + 0.6 * _CASING,
        alpha=faint,
    )
    axes.plot(
        x,
        y,
        color=colour,
        linewidth=width,
        alpha=opacity,
        linestyle=dash,
    )
