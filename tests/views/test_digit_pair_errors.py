"""Table 1 of the survey and ours: a bar for every measured value, and none for missing ones."""

from __future__ import annotations

from dataclasses import replace

from areaviz.cards.card import Card
from areaviz.draw.charts import PAIR_READERS, has_pairs, pairs_figure, pairs_table
from tests.pages import folder


def reader(name: str, family: str, error: float, **config: object) -> Card:
    card = replace(folder.card(name, "location-wise hard"), task="digits", family=family)
    return replace(card, config={"kind": "pairs", **config}, figures={"test": {"error": error}})


CARDS = [
    reader("a", "dram", 0.099, context=True),
    reader("b", "dram", 0.08, context=True),
    reader("c", "dram", 0.2, context=False),
    reader("d", "ram", 0.04, kind="cluttered"),
]


def test_each_row_shows_its_best_reader() -> None:
    assert pairs_table(CARDS).rows == [
        ("One layer of glimpses", "9.0%", "–"),
        ("Two layers, no coarse look", "7.0%", "20.0%"),
        ("Two layers after a coarse look", "5.0%", "8.0%"),
        ("Spatial transformer, look by look", "–", "–"),
    ]


def test_figure_has_the_numbers_of_the_table() -> None:
    survey, ours = pairs_figure(CARDS).data
    assert survey.x == (0.09, 0.07, 0.05, None) and ours.x == (None, 0.2, 0.08, None)
    assert list(survey.y) == [one.title for one in PAIR_READERS]


def test_no_pair_reader_means_no_figure() -> None:
    assert has_pairs(CARDS) and not has_pairs(CARDS[3:])
    unmeasured = replace(CARDS[0], figures={})
    assert not has_pairs([unmeasured])
