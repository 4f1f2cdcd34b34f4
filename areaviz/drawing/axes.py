"""Labels of axes, colour scales, and keys of figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from plotly.graph_objects import Figure, Heatmap

from areaviz.drawing.labels import (
    MAX_LABEL_CHARACTERS,
    Ticks,
    choose_ticks,
    escape,
    replace_undrawable,
)
from areaviz.drawing.theme import (
    PRINT_FONT,
    PRINT_ROOM,
    SCREEN_FONT,
    SCREEN_WIDTH,
    Layout,
    count_decimals,
    scale_step,
)
from areaviz.trace.areas import FloatArray

STEPS = np.linspace(0, 1, 25)
"""Positions along a curve, from its start to its end."""
HOVER = "%{text}<extra></extra>"
"""Plotly hover template that shows only the text of a mark."""


def choose_screen_labels(
    labels: Sequence[str],
    room: float = SCREEN_WIDTH,
    upright: bool = False,
    longest: int = MAX_LABEL_CHARACTERS,
) -> Ticks:
    """Choose which labels to show, so that they fit on a screen axis of `room` px."""
    return choose_ticks(labels, room, SCREEN_FONT, upright, longest)


def print_labels(
    labels: Sequence[str],
    room: float = PRINT_ROOM,
    upright: bool = False,
    longest: int = MAX_LABEL_CHARACTERS,
) -> Ticks:
    """Choose which labels to show, so that they fit on a print axis of `room` pt.

    Characters that the print font lacks are replaced by codes such as ⟨U+1F600⟩.
    """
    return choose_ticks(
        [replace_undrawable(label) for label in labels], room, PRINT_FONT, upright, longest
    )


def make_screen_ticks(shown: Ticks) -> Layout:
    """Return the tick settings of a Plotly axis."""
    return {
        "tickmode": "array",
        "tickvals": shown.positions,
        "ticktext": [escape(text) for text in shown.texts],
        # If a screen is narrower than expected, Plotly may rotate horizontal labels.
        "tickangle": -shown.angle or None,
        "autotickangles": [0, -90],
    }


def compute_label_depth(shown: Ticks) -> float:
    """Return the height in px of the labels below or above a horizontal screen axis."""
    if not shown.angle:
        return 20
    return 12 + 0.45 * SCREEN_FONT * max(map(len, shown.texts), default=1)


def relabel_for_width(figure: Figure, room: float) -> Figure:
    """Change a screen figure so that its horizontal axes show the labels that fit in `room` px."""
    layout = figure.layout
    for axis, labels in layout.meta["labels"].items():
        before, after = choose_screen_labels(labels), choose_screen_labels(labels, room)
        side = "t" if layout[axis].side == "top" else "b"
        change = compute_label_depth(after) - compute_label_depth(before)
        figure.update_layout(
            {
                axis: make_screen_ticks(after),
                "margin": {side: layout.margin[side] + change},
                "height": round(layout.height + change),
            }
        )
    return figure


def without_title(figure: Figure) -> Figure:
    """Remove the title and note from a screen figure. The page shows them as text."""
    layout = figure.layout
    # Keep 8 px of space above the plot.
    less = layout.meta["heading"] - 8
    return figure.update_layout(
        title={"text": "", "subtitle": {"text": ""}},
        margin={"t": layout.margin.t - less},
        height=round(layout.height - less),
    )


def find_common_top(figures: Sequence[Figure]) -> float | None:
    """Return the largest end of the colour scales of all figures.

    Returns:
        The end, or None if a figure has no colour scale or its scale cannot be changed.
    """
    tops = [figure.layout.coloraxis.cmax for figure in figures]
    if None in tops or not all(map(_can_move, figures)):
        return None
    return float(max(tops))


def _can_move(figure: Figure) -> bool:
    """Return whether the end of a figure's colour scale can be changed.

    It cannot be changed if the matrix was drawn as an image.
    """
    is_heatmap = any(isinstance(trace, Heatmap) for trace in figure.data)
    return is_heatmap or not figure.layout.images


def with_colour_limit(figure: Figure, top: float | None) -> Figure:
    """Set the end of a screen figure's colour scale to `top`, unless `top` is None."""
    scale = figure.layout.coloraxis
    if top is None or scale.cmax == top or scale.cmin != 0:
        return figure
    step = scale_step(top, short=scale.colorbar.dtick > scale.cmax / 4)
    bar = {"dtick": step, "tickformat": f".{count_decimals(step)}%"}
    return figure.update_layout(coloraxis={"cmax": top, "colorbar": bar})


def make_legend(y: float, **more: object) -> Layout:
    """Return the settings of a horizontal key, aligned left.

    Args:
        y: 0 for the bottom of the figure, or 1 for directly above the plot.
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
