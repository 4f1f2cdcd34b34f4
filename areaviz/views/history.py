"""Training curves: how the loss on training and validation data fell with the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plotly.graph_objects import Figure, Scatter

from areaviz.cards.card import Card
from areaviz.drawing.base import Table
from areaviz.drawing.theme import ACCENT, RULE, SECOND, screen

CURVES = {"train_loss": ("Training", SECOND, "dot"), "valid_loss": ("Validation", ACCENT, "solid")}
"""Measure -> name, colour, dash: told apart without colour too."""


def history_figure(card: Card) -> Figure:
    """Loss in nats an item over training steps; measures a card does not have are left out."""
    figure = screen(
        "Loss during training", "", f"Loss of {card.name} at every validation", height=220
    )
    for measure, (name, color, dash) in CURVES.items():
        steps, losses = _curve(card.history, measure)
        line = {"color": color, "dash": dash, "width": 2}
        if steps:
            figure.add_trace(
                Scatter(
                    x=steps,
                    y=losses,
                    name=name,
                    mode="lines+markers",
                    line=line,
                    marker={"size": 4},
                )
            )
    figure.update_layout(hovermode="x unified", showlegend=True)
    figure.update_xaxes(title={"text": "Training step"}, rangemode="tozero")
    figure.update_yaxes(
        title={"text": "Loss (nats an item)"}, showgrid=True, gridcolor=RULE, hoverformat=".3f"
    )
    return figure


def history_table(card: Card) -> Table:
    """The same numbers: one row a validation, the measures any of them has."""
    columns = tuple(dict.fromkeys(name for entry in card.history for name in entry))
    return Table(
        columns,
        [tuple(entry.get(name, float("nan")) for name in columns) for entry in card.history],
    )


def _curve(history: Sequence[Mapping[str, float]], measure: str) -> tuple[list[float], list[float]]:
    points = [
        (entry["step"], entry[measure]) for entry in history if "step" in entry and measure in entry
    ]
    return [step for step, _ in points], [loss for _, loss in points]
