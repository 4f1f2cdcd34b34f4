"""The answer of a pointer network: the side of each number, the data, and the view."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from areaviz.draw.marks import Axis, Mark, Panel, Path, Plot, Points, Scale, Stroke
from areaviz.draw.select import fits_map
from areaviz.draw.theme import ACCENT, EDGE, SECOND, Drawing
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace.areas import FloatArray, IntArray
from areaviz.trace.kinds import EXTENT
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.message import serialise_message

# Choice of the side of each point on which its number is drawn.


def label_positions(points_N2: IntArray) -> list[tuple[str, str]]:
    """Return the side of each point that is away from the centre of all points.

    Lines of a hull or a tour rarely leave a point on that side, so they seldom cross its number.
    """
    found = []
    middle_2 = points_N2.mean(0) if len(points_N2) else np.zeros(2)
    for x, y in (points_N2 - middle_2).tolist():
        beside = "right" if x >= 0 else "left"
        across = "center" if abs(x) < abs(y) / 2 else beside
        found.append(("top" if y >= 0 else "bottom", across))
    return found


# Data of the points component: the answer of a pointer network, and the weights of every step.
#
# The script in `areaviz/views/points` draws it, and lets users move the points.


_SURE = 0.99
_SIZES = {"hull": ("area", "exact area"), "tour": ("length", "shortest")}
"""Keys in `Trace.details` for the size of the model's and of the exact answer, by problem."""


def make_points_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the points, the answer and the weights, with a digest as `header["id"]`.

    Args:
        trace: a trace in which the steps of an answer attend to points.
        focus: names the site.
    """
    attention = trace.maps[focus.site]
    details = trace.details
    exact = [int(label) - 1 for label in details.get("exact", "").split()]
    kind = details.get("kind", "")
    header = {
        "points": trace.fields[attention.memory].anchors.tolist(),
        "chosen": [int(label) - 1 for label in trace.fields[attention.query].labels],
        "exact": [*exact, exact[0]] if exact else [],
        "kind": kind,
        "sizes": [int(details[name]) for name in _SIZES.get(kind, ()) if name in details],
        "weights": np.round(attention.weights[0, 0].astype(float), 4).tolist(),
    }
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}


def choose_first_step(trace: Trace) -> int:
    """Return the least certain step, or the middle step if all are certain. It is shown first."""
    sure_T = trace.output.probabilities
    least = int(sure_T.argmin())
    return least if sure_T[least] < _SURE else len(sure_T) // 2


# View of a pointer network's weights at one step, and of its answer up to this step.
#
# Shapes: N points, T steps including the closing one.


_MARGIN = 0.06 * EXTENT


@dataclass(frozen=True, slots=True, eq=False)
class Pointing(Drawing):
    """One step of an answer."""

    # Coordinates from 0 to 1,000, y upwards: int64 [N, 2].
    points: IntArray
    # Weights of every step: float32 [T, N].
    weights: FloatArray
    # The shown step, 0-based.
    step: int
    # The chosen points and the points of the exact answer, in order and 0-based, with the first
    # point repeated at the end. The exact answer is empty if it is unknown.
    chosen: tuple[int, ...]
    exact: tuple[int, ...]

    @property
    def path(self) -> IntArray:
        """Corners of the path drawn after this step: int64 [step + 1, 2]."""
        return self.points[list(self.chosen[: self.step + 1])]


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends to points."""
    return fits_map(trace, focus) and trace.fields[trace.maps[focus.site].memory].kind == "points"


def find_pointing(trace: Trace, focus: Focus) -> Pointing:
    """Return the data of the first focused step, or of the last step if none is focused."""
    attention = trace.maps[focus.site]
    labels = trace.fields[attention.query].labels
    by_query = focus.side == "query" and focus.items
    step = min(focus.items) if by_query else len(labels) - 1
    exact = _parse_points(trace.details.get("exact", "").split())
    share = float(trace.output.probabilities[step])
    drawn = "; dashed: the exact answer" if exact else ""
    return Pointing(
        title=f"Step {step + 1} of {len(labels)}: points at {labels[step]} with {share:.0%}",
        note=f"colour: weight at this step; line: the answer after it{drawn}",
        caption=figure_caption(trace, focus),
        points=trace.fields[attention.memory].anchors,
        weights=attention.weights[0, 0],
        step=step,
        chosen=_parse_points(labels),
        exact=(*exact, exact[0]) if exact else (),
    )


def _parse_points(labels: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(label) - 1 for label in labels)


def plot(drawn: Pointing) -> Plot:
    """Draw the points in their square, coloured by weight, with the answer so far."""
    marks: list[Mark] = []
    if drawn.exact:
        x, y = drawn.points[list(drawn.exact)].T
        marks.append(Path(x, y, Stroke(EDGE, (1.5, 0.9), "dash")))
    x, y = drawn.path.T
    marks.append(Path(x, y, Stroke(ACCENT, (2.5, 1.6))))
    weights_N = drawn.weights[drawn.step]
    numbers = range(1, len(weights_N) + 1)
    edges = [EDGE] * len(weights_N)
    edges[drawn.chosen[drawn.step]] = SECOND
    x, y = drawn.points.T
    dots = Points(
        x,
        y,
        (15, 6.48),
        "",
        Stroke(EDGE, (2, 1)),
        edges=edges,
        values=weights_N,
        texts=list(map(str, numbers)),
        sides=label_positions(drawn.points),
        may_overhang=True,
        hovers=[f"point {n}: {w:.1%}" for n, w in zip(numbers, weights_N.tolist(), strict=True)],
    )
    side = Axis(ends=(-_MARGIN, EXTENT + _MARGIN), is_seen=False)
    panel = Panel(marks=[*marks, dots], across=side, down=side, is_square=True)
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(400, 3.4),
        above=4,
        below=12,
        scale=Scale(1.0, "weight"),
    )


def tabulate(drawn: Pointing) -> Table:
    """Return a table with a row per step: chosen point, exact point, and weight of every point."""
    count = len(drawn.points)
    columns = ("step", "point", "exact answer", *(f"weight of {n}" for n in range(1, count + 1)))
    rows: list[Row] = []
    for step, weights_N in enumerate(drawn.weights):
        exact = str(drawn.exact[step] + 1) if step < len(drawn.exact) else ""
        weights = [float(weight) for weight in np.asarray(weights_N)]
        rows.append((step + 1, drawn.chosen[step] + 1, exact, *weights))
    return Table(columns, rows)


VIEW = view_of_marks(
    "points",
    "Points and tour",
    "How does the model weight the points at this step, and what has it drawn so far?",
    fits,
    find_pointing,
    plot,
    tabulate,
    how_to_read=(
        "Each dot is a point, and brighter means a larger weight as the next point. The ring"
        " marks the chosen point. Where the line and the dashes separate, the model is wrong."
    ),
)
