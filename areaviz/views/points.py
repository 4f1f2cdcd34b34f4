"""Points and tour: the weights of a pointer network at one step, and the answer so far.

Shapes: N points, T steps including the closing one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing.axes import print_scale
from areaviz.drawing.base import Row, Table, figure_caption, view
from areaviz.drawing.numbered_points import label_positions, numbered_points
from areaviz.drawing.select import fits_map
from areaviz.drawing.theme import (
    ACCENT,
    EDGE,
    PRINT_EDGE,
    PRINT_FONT,
    SECOND,
    SEQUENCE,
    Drawing,
    axis,
    colour_axis,
    print_figure,
    screen_figure,
)
from areaviz.trace.points import EXTENT
from areaviz.trace.record import FloatArray, IntArray, Trace
from areaviz.trace.request import Focus

_MARGIN = 0.06 * EXTENT
_AWAY = {"left": -4, "center": 0, "right": 4}
_FROM = {"left": "right", "center": "center", "right": "left"}
"""For each side on which a number is drawn: its offset from the point in px, and its alignment."""


@dataclass(frozen=True, slots=True, eq=False)
class Pointing(Drawing):
    """One step of an answer."""

    # Coordinates from 0 to 1,000, y upwards: int64 [N, 2].
    points: IntArray
    # Weights of every step: float32 [T, N].
    weights: FloatArray
    # The shown step, 0-based.
    step: int
    # The chosen points in order, and those of the exact answer, both 0-based, with the first point
    # repeated at the end. The exact answer is empty if it is unknown.
    chosen: tuple[int, ...]
    exact: tuple[int, ...]

    @property
    def path(self) -> IntArray:
        """Corners of the path drawn after this step: int64 [step + 1, 2]."""
        return self.points[list(self.chosen[: self.step + 1])]


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends to points."""
    return fits_map(trace, focus) and trace.fields[trace.maps[focus.site].memory].kind == "points"


def pointing(trace: Trace, focus: Focus) -> Pointing:
    """Find what to draw at the first focused step, or at the last step if none is focused."""
    attention = trace.maps[focus.site]
    labels = trace.fields[attention.query].labels
    by_query = focus.side == "query" and focus.items
    step = min(focus.items) if by_query else len(labels) - 1
    exact = _points(trace.details.get("exact", "").split())
    share = float(trace.output.probabilities[step])
    drawn = "; dashed: the exact answer" if exact else ""
    return Pointing(
        title=f"Step {step + 1} of {len(labels)}: points at {labels[step]} with {share:.0%}",
        note=f"colour: weight at this step; line: the answer after it{drawn}",
        caption=figure_caption(trace, focus),
        points=trace.fields[attention.memory].anchors,
        weights=attention.weights[0, 0],
        step=step,
        chosen=_points(labels),
        exact=(*exact, exact[0]) if exact else (),
    )


def _points(labels: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(label) - 1 for label in labels)


def figure(drawn: Pointing) -> Figure:
    """Draw the points in their square, coloured by weight, with the answer so far."""
    ends = [-_MARGIN, EXTENT + _MARGIN]
    across = axis(range=ends, showticklabels=False, constrain="domain", showline=False)
    down = across | {"scaleanchor": "x"}
    result = screen_figure(
        drawn,
        400,
        above=4,
        below=12,
        across=across,
        down=down,
        coloraxis=colour_axis(1.0, "weight"),
    )
    if drawn.exact:
        result.add_trace(_line(drawn.points[list(drawn.exact)], EDGE, 1.5, "dash"))
    result.add_trace(_line(drawn.path, ACCENT, 2.5, "solid"))
    weights_N = drawn.weights[drawn.step]
    hovers = []
    for number, weight in enumerate(weights_N, start=1):
        hovers.append(f"point {number}: {weight:.1%}")
    edges = [EDGE] * len(weights_N)
    edges[drawn.chosen[drawn.step]] = SECOND
    placed = numbered_points(
        drawn.points,
        textfont_size=13,
        marker={
            "size": 15,
            "color": weights_N,
            "coloraxis": "coloraxis",
            "line": {"width": 2, "color": edges},
        },
        hovertext=hovers,
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )
    result.add_trace(placed)
    return result


def _line(places_T2: IntArray, colour: str, width: float, dash: str) -> Scatter:
    x, y = places_T2.T
    line = {"color": colour, "width": width, "dash": dash}
    return Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def paper(drawn: Pointing) -> PrintFigure:
    """Draw the figure for print."""
    result, axes = print_figure(drawn, 3.4)
    axes.set(xlim=(-_MARGIN, EXTENT + _MARGIN), ylim=(-_MARGIN, EXTENT + _MARGIN))
    axes.set(xticks=[], yticks=[], aspect="equal")
    if drawn.exact:
        x, y = drawn.points[list(drawn.exact)].T
        axes.plot(x, y, color=PRINT_EDGE, linewidth=0.9, linestyle="--")
    x, y = drawn.path.T
    axes.plot(x, y, color=ACCENT, linewidth=1.6)
    weights_N = drawn.weights[drawn.step]
    edges = [PRINT_EDGE] * len(weights_N)
    edges[drawn.chosen[drawn.step]] = SECOND
    x, y = drawn.points.T
    style: dict[str, Any] = {
        "cmap": SEQUENCE,
        "vmin": 0,
        "vmax": 1,
        "edgecolors": edges,
        "zorder": 3,
    }
    dots = axes.scatter(x, y, 42, weights_N, **style)
    for number, (down, across) in enumerate(label_positions(drawn.points), start=1):
        away = _AWAY[across], 5 if down == "top" else -5
        axes.annotate(
            str(number),
            drawn.points[number - 1],
            away,
            textcoords="offset points",
            ha=_FROM[across],
            va="bottom" if down == "top" else "top",
            fontsize=PRINT_FONT,
        )
    print_scale(result, axes, dots, "weight", 1.0)
    return result


def table(drawn: Pointing) -> Table:
    """Tabulate one row per step: the chosen point, the exact one, and the weight of every point."""
    count = len(drawn.points)
    columns = ("step", "point", "exact answer", *(f"weight of {n}" for n in range(1, count + 1)))
    rows: list[Row] = []
    for step, weights_N in enumerate(drawn.weights):
        exact = str(drawn.exact[step] + 1) if step < len(drawn.exact) else ""
        weights = [float(weight) for weight in np.asarray(weights_N)]
        rows.append((step + 1, drawn.chosen[step] + 1, exact, *weights))
    return Table(columns, rows)


VIEW = view(
    "points",
    "Points and tour",
    "How does the model weight the points at this step, and what has it drawn so far?",
    fits,
    pointing,
    figure,
    table,
    paper,
    how_to_read=(
        "Each dot is a point, and brighter means a larger weight as the next point. The ring"
        " marks the chosen point. Where the line and the dashes separate, the model is wrong."
    ),
)
