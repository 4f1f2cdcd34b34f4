"""Quality of translators by the length of sentences, with and without attention, from cards alone.

No view of one trace: each card has BLEU for the shortest, middle and longest third of a test set
(`areaviz/metrics/by_length.py` measures it), with the ends of a 95 % interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plotly.graph_objects import Figure, Scatter

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.drawing.axes import legend
from areaviz.drawing.base import Row, Table
from areaviz.drawing.labels import escape
from areaviz.drawing.numbers import number_text
from areaviz.drawing.theme import ACCENT, RULE, SECOND, Drawing, screen_figure

THIRDS = ("short", "middle", "long")
"""The ends of the keys of a card, from the shortest sentences to the longest."""
TITLE = "Quality by the length of sentences"
_HEIGHT = 260.0
_STYLES = {True: (ACCENT, "solid", "circle"), False: (SECOND, "dot", "square")}
"""Colour, dash and mark of a line, by whether its model attends."""


def with_and_without(task: str, cards: Sequence[Card]) -> Sequence[Card]:
    """The cards with figures by length of pairs in which one model has no attention, it last.

    Nothing where no such pair has another model with such figures.
    """
    known = [card for card in cards if "bleu_short" in _figures(task, card)]
    blind = {card.pair for card in known if card.mechanism == "none"}
    found = [card for card in known if card.pair in blind]
    found.sort(key=lambda card: card.mechanism == "none")
    return found if len({card.mechanism for card in found}) > 1 else []


def length_figure(task: str, cards: Sequence[Card]) -> Figure:
    """BLEU over the mean words of a third's sources, a line a model, with 95 % intervals."""
    caption = " ".join(filter(None, (gain_words(task, card) for card in cards)))
    drawing = Drawing(TITLE, "thirds of the test set; bars: 95 % of its resamples", caption)
    figure = screen_figure(drawing, _HEIGHT, above=24)
    for card in cards:
        figures = _figures(task, card)
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
    figure.update_layout(showlegend=True, legend=legend(1, xanchor="left"))
    figure.update_xaxes(title_text="Words of a sentence to translate, mean")
    return figure.update_yaxes(title_text="BLEU", showgrid=True, gridcolor=RULE, rangemode="tozero")


def length_table(task: str, cards: Sequence[Card]) -> Table:
    """The same numbers: one row for each model and third."""
    rows: list[Row] = []
    for card in cards:
        figures = _figures(task, card)
        for third in THIRDS:
            key = f"bleu_{third}"
            values = figures[f"words_{third}"], figures[key]
            ends = figures[f"{key}_low"], figures[f"{key}_high"]
            rows.append((card.title, third, *values, *ends))
    return Table(("model", "third", "words", "BLEU", "from", "to"), rows)


def gain_words(task: str, card: Card) -> str:
    """What a model has over one it was compared with, by length, in words; "" where unknown."""
    figures = _figures(task, card)
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


def _figures(task: str, card: Card) -> Mapping[str, Any]:
    """What a card has of the test set that counts."""
    return card.figures.get(TASKS[task].headline, {})
