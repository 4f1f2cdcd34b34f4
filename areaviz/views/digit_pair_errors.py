"""Chart of errors on pairs of digits, of our models and of the survey's Table 1."""

from __future__ import annotations

from collections.abc import Sequence

from plotly.graph_objects import Bar, Figure

from areaviz.cards.card import Card
from areaviz.cards.digit_pairs import PAIR_READERS
from areaviz.drawing.axes import make_legend
from areaviz.drawing.base import Row, Table
from areaviz.drawing.theme import ACCENT, RULE, SECOND, Drawing, screen_figure

TITLE = "Pairs of digits, read one after the other"
CAPTION = (
    "The survey's figures are of Ba et al. (2015): pairs of MNIST in 100×100 pixels, as here, read"
    " by other networks. Ours are one run each, and do not tell what a second layer is worth: the"
    " one layer has patches as wide as the picture, and was told where the digits are in all of its"
    " updates, the others in their first ones. A reader without a bar has no model here."
)
_HEIGHT = 300.0


def has_pairs(cards: Sequence[Card]) -> bool:
    """Return whether any of our models was evaluated on pairs."""
    return any(reader.error(cards) is not None for reader in PAIR_READERS)


def pairs_figure(cards: Sequence[Card]) -> Figure:
    """Draw two bars per kind of model: the survey's share of wrongly read pairs, and ours."""
    figure = screen_figure(Drawing(TITLE, "pairs with any digit wrong", CAPTION), _HEIGHT, above=24)
    titles = [reader.title for reader in PAIR_READERS]
    reported = [reader.published for reader in PAIR_READERS]
    ours = [reader.error(cards) for reader in PAIR_READERS]
    for name, errors, colour in (("Survey", reported, SECOND), ("Ours", ours, ACCENT)):
        figure.add_trace(
            Bar(
                x=errors,
                y=titles,
                orientation="h",
                name=name,
                marker={"color": colour},
                text=[_format_percent(error) for error in errors],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="%{y}: %{x:.1%}<extra></extra>",
            )
        )
    figure.update_layout(barmode="group", bargap=0.3, showlegend=True)
    figure.update_layout(legend=make_legend(1, xanchor="left"))
    figure.update_xaxes(title_text="Error", tickformat=".0%", rangemode="tozero")
    figure.update_xaxes(showgrid=True, gridcolor=RULE)
    return figure.update_yaxes(autorange="reversed")


def pairs_table(cards: Sequence[Card]) -> Table:
    """Return a table with a row per kind of model: the survey's error and ours."""
    rows: list[Row] = []
    for reader in PAIR_READERS:
        rows.append(
            (reader.title, _format_percent(reader.published), _format_percent(reader.error(cards)))
        )
    return Table(("reader", "survey", "ours"), rows)


def _format_percent(error: float | None) -> str:
    return "–" if error is None else f"{error:.1%}"
