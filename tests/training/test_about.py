"""The texts of cards are complete, and those of the shipped cards are still these."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

import pytest

from areaviz.cards.card import read_card
from areaviz.lab.loop import TEXTS, read_training_texts
from areaviz.samples.paths import CHECKPOINTS

SECTIONS: dict[str, dict[str, Any]] = tomllib.loads(
    (files("areaviz.lab") / TEXTS).read_text("utf-8")
)
# The values that texts name.
VALUES: dict[str, Any] = {
    "made": "",
    "longest": 30,
    "count": 1200,
    "synthesised": "",
    "validated": 256,
    "drawn": 5000,
    "help": "with help",
    "scenes": {"train": 20_000, "val": 1000, "test": 1000},
    "digits": 4000,
    "held_out": 1000,
    "sets": 40_000,
    "sizes": "5 to 10",
    "valid": 1000,
    "solver": "a solver",
}


@pytest.mark.parametrize("name", SECTIONS)
def test_every_training_has_complete_texts(name: str) -> None:
    found = read_training_texts(name, **VALUES)
    assert found.data.keys() >= {"name", "train", "valid", "test", "licence"}
    for text in (*found.data.values(), found.limits, found.licence):
        assert text == " ".join(text.split()) and "{" not in text
    assert found.limits.endswith(".") and found.licence


def test_values_are_filled_in() -> None:
    assert read_training_texts("parsing", **VALUES).data["train"].startswith("1,200 sentences")
    with pytest.raises(KeyError, match="longest"):
        read_training_texts("parsing")
    with pytest.raises(KeyError, match="smells"):
        read_training_texts("smells")


def test_shipped_cards_have_these_texts() -> None:
    known = [read_training_texts(name, **VALUES) for name in SECTIONS]
    licences, tests = {one.licence for one in known}, {one.data["test"] for one in known}
    cards = [read_card(path) for path in sorted(CHECKPOINTS.glob("*/card.json"))]
    assert len(cards) > 30
    for card in cards:
        assert card.licence in licences and card.data["test"] in tests, card.name
