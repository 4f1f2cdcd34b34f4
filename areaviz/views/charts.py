"""Figures that are no view of one trace: measures of many examples, and the loss of a training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from plotly.graph_objects import Bar, Figure, Histogram, Scatter

from areaviz.cards.card import Card
from areaviz.drawing.axes import legend
from areaviz.drawing.base import Table
from areaviz.drawing.labels import escape
from areaviz.drawing.theme import (
    ACCENT,
    EDGE,
    RULE,
    SECOND,
    Drawing,
    Layout,
    head_colour,
    screen_figure,
)
from areaviz.trace.record import FloatArray

_HEIGHT = 190.0
_CURVES = {
    "train_loss": ("Training", SECOND, "dot"),
    "valid_loss": ("Validation", ACCENT, "solid"),
}
"""Of a measure its name, colour and dash, which tells the curves apart without colour too."""


def _marker(number: int) -> Layout:
    return {"color": head_colour(number), "line": {"width": 0.5, "color": EDGE}}


def histogram(
    values: Mapping[str, FloatArray],
    title: str,
    note: str = "",
) -> Figure:
    """How many examples have which value, a colour a model; NaN is left out."""
    shown = {name: column[np.isfinite(column)] for name, column in values.items()}
    everything = np.concatenate(list(shown.values()))
    low, high = 0.0, 1.0
    if len(everything):
        low, high = float(everything.min()), float(everything.max())
    size = (high - low) / 30 or 1.0
    bins = {
        "start": low,
        "end": high + size,
        "size": size,
    }
    figure = screen_figure(Drawing(title, note, ""), _HEIGHT)
    for number, (name, column) in enumerate(shown.items()):
        figure.add_trace(
            Histogram(
                x=column,
                xbins=bins,
                name=escape(name),
                opacity=0.75,
                marker=_marker(number),
            )
        )
    several = len(shown) > 1
    figure.update_layout(
        barmode="overlay", showlegend=several, dragmode="select", selectdirection="h"
    )
    return figure.update_yaxes(title="Examples", gridcolor=RULE)


def scatter(
    x: FloatArray, y: FloatArray, names: Sequence[str], titles: tuple[str, str], title: str
) -> Figure:
    """A point an example; `customdata` is its place among all, so that a brush can be read back."""
    places = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    figure = screen_figure(Drawing(title, "", ""), _HEIGHT)
    figure.add_trace(
        Scatter(
            x=x[places],
            y=y[places],
            mode="markers",
            customdata=places[:, None],
            text=[escape(names[place]) for place in places.tolist()],
            hovertemplate="%{text}<br>%{x:.3g}, %{y:.3g}<extra></extra>",
            marker=_marker(0) | {"size": 7, "opacity": 0.7},
        )
    )
    figure.update_layout(dragmode="select", showlegend=False)
    figure.update_xaxes(title=escape(titles[0]), gridcolor=RULE)
    return figure.update_yaxes(title=escape(titles[1]), gridcolor=RULE)


def bars(
    names: Sequence[str], values: Mapping[str, Sequence[float]], axes: tuple[str, str], title: str
) -> Figure:
    """A group of bars a bucket, a colour a model.

    Args:
        names: of the buckets.
        values: of each model, as many as names, NaN for none.
        axes: titles of x and y.
        title: of the figure.
    """
    several = len(values) > 1
    figure = screen_figure(Drawing(title, "", ""), _HEIGHT, above=24 if several else 0)
    for number, (model, heights) in enumerate(values.items()):
        figure.add_trace(
            Bar(
                x=[escape(name) for name in names],
                y=list(heights),
                name=escape(model),
                marker=_marker(number),
                hovertemplate=f"{escape(model)}<br>%{{x}}: %{{y:.3g}}<extra></extra>",
            )
        )
    key = legend(1, xanchor="left")
    figure.update_layout(
        barmode="group",
        bargap=0.25,
        showlegend=several,
        legend=key,
    )
    figure.update_xaxes(title=escape(axes[0]), type="category")
    return figure.update_yaxes(
        title=escape(axes[1]),
        gridcolor=RULE,
        showgrid=True,
    )


def history_figure(card: Card) -> Figure:
    """Loss in nats an item over training steps; measures a card does not have are left out."""
    figure = screen_figure(
        Drawing("Loss during training", "", f"Loss of {card.name} at every validation"), 220
    )
    for measure, (name, colour, dash) in _CURVES.items():
        entries = [entry for entry in card.history if "step" in entry and measure in entry]
        if entries:
            figure.add_trace(
                Scatter(
                    x=[entry["step"] for entry in entries],
                    y=[entry[measure] for entry in entries],
                    name=name,
                    mode="lines+markers",
                    line_color=colour,
                    line_dash=dash,
                    line_width=2,
                    marker_size=4,
                )
            )
    figure.update_layout(hovermode="x unified", showlegend=True)
    figure.update_xaxes(title="Training step", rangemode="tozero")
    return figure.update_yaxes(
        title="Loss (nats an item)", showgrid=True, gridcolor=RULE, hoverformat=".3f"
    )


def history_table(card: Card) -> Table:
    """The same numbers: one row a validation, the measures any of them has."""
    columns = tuple(dict.fromkeys(name for entry in card.history for name in entry))
    rows = [tuple(entry.get(name, float("nan")) for name in columns) for entry in card.history]
    return Table(columns, rows)
