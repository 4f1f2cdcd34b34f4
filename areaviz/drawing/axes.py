"""Axes, colour bars, keys and invisible marks for figures on screen and in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import MultipleLocator, PercentFormatter
from plotly.graph_objects import Figure, Heatmap, Scatter

from areaviz.drawing.labels import LONGEST, Ticks, drawable, escape, ticks
from areaviz.drawing.pictures import matrix_uri
from areaviz.drawing.theme import (
    PRINT_FONT,
    PRINT_ROOM,
    PRINT_RULE,
    SCREEN_FONT,
    SCREEN_WIDTH,
    SECOND,
    Layout,
    decimals,
    scale_step,
    times,
)
from areaviz.trace.record import FloatArray

STEPS = np.linspace(0, 1, 25)
"""Positions along a curve, from its start to its end."""
HOVER = "%{text}<extra></extra>"
"""Plotly hover template that shows only the text of a mark."""


def screen_labels(
    labels: Sequence[str],
    room: float = SCREEN_WIDTH,
    upright: bool = False,
    longest: int = LONGEST,
) -> Ticks:
    """Choose the visible labels that fit on a screen axis of `room` px."""
    return ticks(labels, room, SCREEN_FONT, upright, longest)


def print_labels(
    labels: Sequence[str],
    room: float = PRINT_ROOM,
    upright: bool = False,
    longest: int = LONGEST,
) -> Ticks:
    """Choose the visible labels that fit on a print axis of `room` pt, drawable in its font."""
    return ticks([drawable(label) for label in labels], room, PRINT_FONT, upright, longest)


def screen_ticks(shown: Ticks) -> Layout:
    """Return the tick settings of a Plotly axis."""
    return {
        "tickmode": "array",
        "tickvals": shown.positions,
        "ticktext": [escape(text) for text in shown.texts],
        # If a screen is narrower than expected, Plotly may rotate horizontal labels.
        "tickangle": -shown.angle or None,
        "autotickangles": [0, -90],
    }


def depth(shown: Ticks) -> float:
    """Return the height in px of the labels below or above a horizontal screen axis."""
    if not shown.angle:
        return 20
    return 12 + 0.45 * SCREEN_FONT * max(map(len, shown.texts), default=1)


def relabel_for_width(figure: Figure, room: float) -> Figure:
    """Change a screen figure to show as many horizontal labels as fit in `room` px."""
    layout = figure.layout
    for axis, labels in layout.meta["labels"].items():
        before, after = screen_labels(labels), screen_labels(labels, room)
        side = "t" if layout[axis].side == "top" else "b"
        change = depth(after) - depth(before)
        figure.update_layout(
            {
                axis: screen_ticks(after),
                "margin": {side: layout.margin[side] + change},
                "height": round(layout.height + change),
            }
        )
    return figure


def without_title(figure: Figure) -> Figure:
    """Remove title and note from a screen figure, for a page that shows them as text."""
    layout = figure.layout
    # Keep 8 px of space above the plot.
    less = layout.meta["heading"] - 8
    return figure.update_layout(
        title={"text": "", "subtitle": {"text": ""}},
        margin={"t": layout.margin.t - less},
        height=round(layout.height - less),
    )


def common_top(figures: Sequence[Figure]) -> float | None:
    """Return the end of a colour scale that covers all figures.

    Returns:
        The largest end, or None if a figure has no colour scale or one that cannot be changed.
    """
    tops = [figure.layout.coloraxis.cmax for figure in figures]
    if None in tops or not all(map(_can_move, figures)):
        return None
    return float(max(tops))


def _can_move(figure: Figure) -> bool:
    """Return whether changing the end of the colour scale changes the figure.

    It does not if the matrix was drawn as an image.
    """
    is_heatmap = any(isinstance(trace, Heatmap) for trace in figure.data)
    return is_heatmap or not figure.layout.images


def with_colour_limit(figure: Figure, top: float | None) -> Figure:
    """Change the end of a screen figure's colour scale to `top`; None leaves it unchanged."""
    scale = figure.layout.coloraxis
    if top is None or scale.cmax == top or scale.cmin != 0:
        return figure
    step = scale_step(top, short=scale.colorbar.dtick > scale.cmax / 4)
    bar = {"dtick": step, "tickformat": f".{decimals(step)}%"}
    return figure.update_layout(coloraxis={"cmax": top, "colorbar": bar})


def legend(y: float, **more: object) -> Layout:
    """Return the settings of a horizontal key, aligned left.

    Args:
        y: 0 for the bottom of the figure, 1 for directly above the plot.
        more: other settings of Plotly's legend.
    """
    key: Layout = {
        "orientation": "h",
        "x": 0,
        "y": y,
        "yanchor": "bottom",
    }
    if y == 0:
        key["yref"] = "container"
    return key | more


def ease_in_out(start: float, end: float) -> FloatArray:
    """Interpolate from `start` to `end` at `STEPS`, slowly at both ends: float32 [25]."""
    change = 3 * STEPS**2 - 2 * STEPS**3
    return (start + (end - start) * change).astype(np.float32)


def hover_points(
    x: Sequence[float], y: Sequence[float], texts: Sequence[str], size: float, **more: object
) -> Scatter:
    """Return invisible points, `size` px wide, that show escaped texts on hovering.

    `more` are other settings of Plotly's Scatter.
    """
    return Scatter(
        x=x,
        y=y,
        mode="markers",
        marker_opacity=0,
        marker_size=size,
        text=texts,
        hovertemplate=HOVER,
        **more,
    )


def add_text(
    x: Sequence[float],
    y: Sequence[float],
    texts: Sequence[str],
    font: Mapping[str, object],
    side: str | None = None,
    **more: object,
) -> Scatter:
    """Return escaped texts at positions of a screen figure.

    `side` is the position of a text relative to its point, such as "bottom right"; None centres
    the text. `more` are other settings of Plotly's Scatter.
    """
    style = {
        "textposition": side,
        "textfont": font,
        "hoverinfo": "skip",
    }
    return Scatter(
        x=x,
        y=y,
        mode="text",
        text=texts,
        **style,
        **more,
    )


def add_outline(
    left: float,
    top: float,
    width: float,
    height: float,
) -> Layout:
    """Return a frame around a focused part, in the units of a screen figure's axes."""
    line = {"color": SECOND, "width": 2}
    return {
        "type": "rect",
        "x0": left,
        "y0": top,
        "x1": left + width,
        "y1": top + height,
        "line": line,
    }


def add_heatmap_image(
    figure: Figure,
    values: FloatArray,
    scale: float,
    box: tuple[float, float, float, float],
    is_signed: bool = False,
) -> None:
    """Add a matrix to a screen figure as an image, on a colour scale from 0 to `scale`.

    A signed scale starts at -`scale`. `box` is left, top, width and height in the units of the
    axes.
    """
    left, top, width, height = box
    figure.add_layout_image(
        source=matrix_uri(values, scale, is_signed),
        xref="x",
        yref="y",
        x=left,
        y=top,
        sizex=width,
        sizey=height,
        sizing="stretch",
        layer="below",
    )
    # An image has no colour bar, so add an invisible point that has one.
    figure.add_trace(
        Scatter(
            x=[left],
            y=[top],
            mode="markers",
            marker_coloraxis="coloraxis",
            marker_color=[0],
            marker_opacity=0,
            hoverinfo="skip",
        )
    )


def print_ticks(
    axes: Axes,
    shown: Ticks,
    top: bool = False,
) -> None:
    """Set the ticks of the horizontal axis of a matplotlib figure, below or above the plot."""
    axes.set_xticks(shown.positions, shown.texts)
    if top:
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0)
    if shown.angle:
        side = "left" if top else "right"
        for text in axes.get_xticklabels():
            text.set(
                rotation=shown.angle,
                rotation_mode="anchor",
                ha=side,
                va="center",
            )


def print_shares(axes: Axes) -> None:
    """Format a vertical axis of shares for print: percentages, with horizontal grid lines."""
    axes.grid(axis="y", color=PRINT_RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))


def print_titles(
    axes: Axes,
    across: str,
    down: str = "",
) -> None:
    """Set the titles of the axes of a print figure."""
    axes.set_xlabel(across, fontsize=8)
    axes.set_ylabel(down, fontsize=8)


def print_scale(
    figure: PrintFigure,
    axes: Axes,
    mappable: ScalarMappable,
    unit: str,
    top: float,
    short: bool = False,
) -> None:
    """Draw the colour bar of a print figure, 0 to `top` in per cent; see `theme.colour_axis`."""
    step = scale_step(top, short)
    bar = figure.colorbar(
        mappable,
        ax=axes,
        pad=0.015,
        aspect=28,
        fraction=0.04,
        format=PercentFormatter(1, decimals(step)),
        ticks=MultipleLocator(step),
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=PRINT_FONT)
    bar.set_label(unit, fontsize=PRINT_FONT)


def print_signed_scale(
    figure: PrintFigure, axes: Axes, mappable: ScalarMappable, unit: str, top: float
) -> None:
    """Draw the colour bar of log₂ ratios in a print figure; see `theme.signed_axis`."""
    steps = range(-int(top), int(top) + 1)
    bar = figure.colorbar(
        mappable,
        ax=axes,
        pad=0.015,
        aspect=28,
        fraction=0.04,
        ticks=[float(step) for step in steps],
    )
    bar.ax.set_yticklabels([times(step) for step in steps])
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=PRINT_FONT)
    bar.set_label(unit, fontsize=PRINT_FONT)
