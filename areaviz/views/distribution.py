"""Many examples at once: how a measure is spread, and how two of them go together. To be brushed
over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.graph_objects import Figure

from areaviz.drawing.labels import escape
from areaviz.drawing.theme import EDGE, RULE, head_colour, screen
from areaviz.trace.record import FloatArray

HEIGHT, BINS = 190.0, 30
_POINT = {"size": 7, "opacity": 0.7, "line": {"width": 0.5, "color": EDGE}}


def histogram(values: Mapping[str, FloatArray], title: str, note: str = "") -> Figure:
    """How many examples have which value, a colour a model; NaN is left out."""
    shown = {name: column[np.isfinite(column)] for name, column in values.items()}
    figure = screen(title, note, "", HEIGHT)
    everything = np.concatenate(list(shown.values()))
    low, high = (
        (float(everything.min()), float(everything.max())) if len(everything) else (0.0, 1.0)
    )
    size = (high - low) / BINS or 1.0
    for number, (name, column) in enumerate(shown.items()):
        bins = {"start": low, "end": high + size, "size": size}
        colour = {"color": head_colour(number), "line": {"width": 0.5, "color": EDGE}}
        figure.add_trace(
            go.Histogram(x=column, xbins=bins, name=escape(name), opacity=0.75, marker=colour)
        )
    figure.update_layout(
        barmode="overlay", showlegend=len(shown) > 1, dragmode="select", selectdirection="h"
    )
    figure.update_yaxes(title="Examples", gridcolor=RULE)
    return figure


def scatter(
    x: FloatArray, y: FloatArray, names: Sequence[str], titles: tuple[str, str], title: str
) -> Figure:
    """A point an example, with its name; `customdata` is its place among all, so that a brush can
    be read back.
    """
    both = np.isfinite(x) & np.isfinite(y)
    figure = screen(title, "", "", HEIGHT)
    figure.add_trace(
        go.Scatter(
            x=x[both],
            y=y[both],
            mode="markers",
            customdata=np.flatnonzero(both)[:, None],
            text=[escape(name) for name, there in zip(names, both.tolist(), strict=True) if there],
            hovertemplate="%{text}<br>%{x:.3g}, %{y:.3g}<extra></extra>",
            marker={"color": head_colour(0), **_POINT},
        )
    )
    figure.update_layout(dragmode="select", showlegend=False)
    figure.update_xaxes(title=escape(titles[0]), gridcolor=RULE)
    figure.update_yaxes(title=escape(titles[1]), gridcolor=RULE)
    return figure
