"""Translation quality by sentence length, with and without attention, drawn from model cards.

This is not a view of one trace. Each card has BLEU for the shortest, middle and longest third of a
test set, with the bounds of a 95 % interval (see `areaviz/metrics/by_length.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plotly.graph_objects import Figure, Scatter

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.drawing.axes import make_legend
from areaviz.drawing.base import Row, Table
from areaviz.drawing.labels import escape
from areaviz.drawing.numbers import number_text
from areaviz.drawing.theme import ACCENT, RULE, SECOND, Drawing, screen_figure

THIRDS = ("short", "middle", "long")
"""Suffixes of the card's metric keys, from the shortest sentences to the longest."""
TITLE = "Quality by the length of sentences"
_HEIGHT = 260.0
_STYLES = {True: (ACCENT, "solid", "circle"), False: (SECOND, "dot", "square")}
"""Colour, dash and marker of a line, by whether its model has attention."""


def with_and_without(task: str, cards: Sequence[Card]) -> Sequence[Card]:
    """Return the cards of a task that compare attention with no attention by sentence length.

    A card qualifies if its language pair has a model without attention and both have results by
    length. The model without attention comes last.

    Returns:
        The cards, or [] if there are fewer than two mechanisms to compare.
    """
    known = [card for card in cards if "bleu_short" in _get_metrics(task, card)]
    blind = {card.pair for card in known if card.mechanism == "none"}
    found = [card for card in known if card.pair in blind]
    found.sort(key=lambda card: card.mechanism == "none")
    return found if len({card.mechanism for card in found}) > 1 else []


def length_figure(task: str, cards: Sequence[Card]) -> Figure:
    """Draw BLEU against the mean source length of each third, one line per model.

    Error bars are 95 % intervals.
    """
    caption = " ".join(filter(None, (describe_gain(task, card) for card in cards)))
    drawing = Drawing(TITLE, "thirds of the test set; bars: 95 % of its resamples", caption)
    figure = screen_figure(drawing, _HEIGHT, above=24)
    for card in cards:
        figures = _get_metrics(task, card)
        middle = [figures[f"bleu_{third}"] for third in THIRDS]
        above = [figures[f"bleu_{third}_high"] - figures[f"bleu_{third}"] for third in THIRDS]
        below = [figures[f"bleu_{third}"] - figures[f"bleu_{third}_low"] for third in THIRDS]
        colour, dash, mark = _STYLES[card.mechanism != "none"]
        figure.add_trace(
            Scatter(
                x=[figures[f"words_{third}"] for third in THIRDS],
                y=middle,
                error_y={"type": "data", "array": above, "arrayminus": below, "thickness": 1.2},
                name=escape(card.title),
                mode="lines+markers",
                line={"color": colour, "dash": dash, "width": 2},
                marker={"symbol": mark, "size": 8},
                hovertemplate="%{x:.1f} words: BLEU %{y:.1f}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True, legend=make_legend(1, xanchor="left"))
    figure.update_xaxes(title_text="Words of a sentence to translate, mean")
    return figure.update_yaxes(title_text="BLEU", showgrid=True, gridcolor=RULE, rangemode="tozero")


def length_table(task: str, cards: Sequence[Card]) -> Table:
    """Tabulate one row per model and third."""
    rows: list[Row] = []
    for card in cards:
        figures = _get_metrics(task, card)
        for third in THIRDS:
            key = f"bleu_{third}"
            values = figures[f"words_{third}"], figures[key]
            ends = figures[f"{key}_low"], figures[f"{key}_high"]
            rows.append((card.title, third, *values, *ends))
    return Table(("model", "third", "words", "BLEU", "from", "to"), rows)


def describe_gain(task: str, card: Card) -> str:
    """Describe a model's gain over its baseline by sentence length, or return "" if unknown."""
    figures = _get_metrics(task, card)
    others = [key.removesuffix(", growth") for key in figures if key.endswith(", growth")]
    if not others:
        return ""
    key = others[0]
    name = key.removeprefix("over ")
    parts = "short", "long", "growth", "growth_low", "growth_high"
    short, long, growth, low, high = (
        number_text(figures[f"{key}, {part}"], "+.1f") for part in parts
    )
    return (
        f"Against {name}, {card.name} has {short} BLEU in the shortest third and {long} in the"
        f" longest; the difference of both is {growth}, in 95 % of the resamples {low} to {high}."
    )


def _get_metrics(task: str, card: Card) -> Mapping[str, Any]:
    """Return the test metrics of a card for its task."""
    return card.figures.get(TASKS[task].headline, {})
