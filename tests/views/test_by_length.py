"""Quality by length: every value of a card is drawn, and nothing is drawn without a value."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.cards.card import Card
from areaviz.draw.charts import describe_gain, length_figure, length_table, with_and_without
from tests.pages.folder import card

TASK, TEST = "translation", "test_2016_flickr"


def measured(name: str, mechanism: str, first: float, pair: str = "recurrent") -> Card:
    figures: dict[str, float] = {}
    for number, third in enumerate(("short", "middle", "long")):
        figures[f"words_{third}"] = 8.0 + 4 * number
        bleu = first - number
        figures |= {f"bleu_{third}": bleu, f"bleu_{third}_low": bleu - 2}
        figures[f"bleu_{third}_high"] = bleu + 3
    return replace(card(name, mechanism, pair), title=f"<{name}>", figures={TEST: figures})


ATTENDS, BLIND = measured("attends", "item-wise soft", 33), measured("blind", "none", 20)


def test_pair_with_and_without_attention_is_compared() -> None:
    other = measured("other", "area", 30, "transformers")
    bare = replace(card("bare", "none", "recurrent"), figures={TEST: {"bleu": 1.0}})
    assert with_and_without(TASK, [BLIND, other, bare, ATTENDS]) == [ATTENDS, BLIND]


@pytest.mark.parametrize("cards", [[], [ATTENDS], [BLIND], [replace(BLIND, pair="x"), ATTENDS]])
def test_single_model_is_not_a_comparison(cards: list[Card]) -> None:
    assert not with_and_without(TASK, cards)


def test_every_number_is_drawn_and_listed() -> None:
    figure = length_figure(TASK, [ATTENDS, BLIND])
    for line, one in zip(figure.data, (ATTENDS, BLIND), strict=True):
        figures = one.figures[TEST]
        assert list(line.x) == [8, 12, 16]
        assert list(line.y) == [figures[f"bleu_{third}"] for third in ("short", "middle", "long")]
        assert list(line.error_y.array) == [3] * 3 and list(line.error_y.arrayminus) == [2] * 3
        assert line.name == f"&lt;{one.name}&gt;"
    # The two lines also differ without colour.
    assert len({(line.line.dash, line.marker.symbol) for line in figure.data}) == 2
    rows = length_table(TASK, [ATTENDS, BLIND]).rows
    assert len(rows) == 6 and rows[5] == ("<blind>", "long", 16.0, 18, 16, 21)


def test_gain_is_stated_if_measured() -> None:
    gains = {"all": 13.0, "short": 8.0, "long": 17.0, "growth": 9.0}
    gains |= {"growth_low": 5.5, "growth_high": 12.5}
    named = {f"over blind, {part}": gain for part, gain in gains.items()}
    compared = replace(ATTENDS, figures={TEST: {**ATTENDS.figures[TEST], **named}})
    said = describe_gain(TASK, compared)
    assert (
        "Against blind, attends has +8.0 BLEU in the shortest third and +17.0 in the longest"
        in said
    )
    assert "+9.0, in 95 % of the resamples +5.5 to +12.5." in said
    assert length_figure(TASK, [compared, BLIND]).layout.meta["caption"] == said
    assert describe_gain(TASK, ATTENDS) == ""
