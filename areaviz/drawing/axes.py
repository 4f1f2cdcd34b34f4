"""Axes and colour bars, for the screen and for paper."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import MultipleLocator, PercentFormatter
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import raster, theme
from areaviz.drawing.labels import Ticks, drawable, escape, ticks
from areaviz.trace.record import FloatArray


def screen_labels(
    labels: Sequence[str], room: float = theme.SCREEN_WIDTH, upright: bool = False
) -> Ticks:
    """Which of these visible labels a screen axis of `room` px shows."""
    return ticks(labels, room, theme.SCREEN_FONT, upright)


def print_labels(
    labels: Sequence[str], room: float = theme.PRINT_ROOM, upright: bool = False
) -> Ticks:
    """Which of these visible labels an axis of `room` pt shows on paper, as the print font can draw
    them.
    """
    return ticks([drawable(label) for label in labels], room, theme.PRINT_FONT, upright)


def screen_ticks(chosen: Ticks) -> dict[str, object]:
    """Tick settings of a plotly axis."""
    texts = [escape(text) for text in chosen.texts]
    return {
        "tickmode": "array",
        "tickvals": chosen.positions,
        "ticktext": texts,
        "tickangle": -chosen.angle,
    }


def depth(chosen: Ticks) -> float:
    """How many px the labels of a horizontal screen axis take up, across it."""
    longest = max((len(text) for text in chosen.texts), default=1)
    return 20 if not chosen.angle else 12 + 0.45 * theme.SCREEN_FONT * longest


def lay_picture(
    figure: Figure, values: FloatArray, scale: float, box: tuple[float, float, float, float]
) -> None:
    """Lay a matrix into a screen figure as a picture on the colour scale 0 to `scale`.

    box: left, top, width and height in the units of the axes.
    """
    place = dict(zip(("x", "y", "sizex", "sizey"), box, strict=True))
    source = raster.png_uri(values, scale)
    figure.add_layout_image(
        source=source, xref="x", yref="y", sizing="stretch", layer="below", **place
    )
    # A picture brings no colour bar along: an unseen point does.
    marker = {"coloraxis": "coloraxis", "color": [0], "opacity": 0}
    figure.add_trace(
        Scatter(x=[box[0]], y=[box[1]], mode="markers", marker=marker, hoverinfo="skip")
    )


def print_ticks(axes: Axes, chosen: Ticks, top: bool = False) -> None:
    """Ticks along the horizontal axis of a matplotlib figure, under it or on top."""
    axes.set_xticks(chosen.positions, chosen.texts)
    if top:
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0)
    if chosen.angle:
        for text in axes.get_xticklabels():
            text.set(
                rotation=chosen.angle,
                rotation_mode="anchor",
                ha="left" if top else "right",
                va="center",
            )


def print_scale(
    figure: PrintFigure,
    axes: Axes,
    mappable: ScalarMappable,
    unit: str,
    top: float,
    short: bool = False,
) -> None:
    """The colour bar of a print figure, 0 to `top` in per cent, with its unit."""
    step = theme.scale_step(top, short)
    percent, places = PercentFormatter(1, theme.decimals(step)), MultipleLocator(step)
    bar = figure.colorbar(
        mappable, ax=axes, pad=0.015, aspect=28, fraction=0.04, format=percent, ticks=places
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=theme.PRINT_FONT)
    bar.set_label(unit, fontsize=theme.PRINT_FONT)
