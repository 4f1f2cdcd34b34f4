"""Scores by bucket as bars, a colour a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from plotly.graph_objects import Figure

from areaviz.drawing.labels import escape
from areaviz.drawing.theme import EDGE, RULE, head_colour, screen

HEIGHT = 190.0


def bars(
    names: Sequence[str], values: Mapping[str, Sequence[float]], axes: tuple[str, str], title: str
) -> Figure:
    """A group of bars a bucket; values: of each model, as many as names, NaN for none. axes: titles
    of x and y.
    """
    figure = screen(title, "", "", HEIGHT, above=24 if len(values) > 1 else 0)
    for number, (model, heights) in enumerate(values.items()):
        colour = {"color": head_colour(number), "line": {"width": 0.5, "color": EDGE}}
        hover = f"{escape(model)}<br>%{{x}}: %{{y:.3g}}<extra></extra>"
        figure.add_trace(
            go.Bar(x=[escape(name) for name in names], y=list(heights), name=escape(model), marker=colour,
                   hovertemplate=hover)
        )  # fmt: skip
    figure.update_layout(barmode="group", bargap=0.25, showlegend=len(values) > 1)
    figure.update_layout(
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom"}
    )
    figure.update_xaxes(title=escape(axes[0]), type="category")
    figure.update_yaxes(title=escape(axes[1]), gridcolor=RULE, showgrid=True)
    return figure
