"""Names of models in select boxes are short, and no two of one task are equal."""

from __future__ import annotations

import pytest

from areaviz.app.options import MAX_LABEL_CHARACTERS, shorten_titles
from areaviz.cards.card import read_card
from areaviz.samples.paths import CHECKPOINTS

# Four ways names its readers by itself.
TASKS = ("caption", "translation", "picture translation", "reading", "speech", "video", "parsing")
CARDS = [read_card(path) for path in sorted(CHECKPOINTS.glob("*/card.json"))]


@pytest.mark.parametrize("task", TASKS)
def test_short_titles_fit_their_box_and_differ(task: str) -> None:
    titles = shorten_titles({card.name: card for card in CARDS if card.task == task})
    assert len(set(titles.values())) == len(titles)
    assert {
        title: len(title) for title in titles.values() if len(title) > MAX_LABEL_CHARACTERS
    } == {}


def test_short_titles_keep_distinguishing_parts() -> None:
    cards = {card.name: card for card in CARDS if card.task == "translation"}
    titles = shorten_titles(cards)
    assert titles["token-boundary"] == "Tokens, areas up to 5"
    assert titles["char-boundary"] == "Characters, areas up to 5 with boundary keys"
    assert titles["char-tiny-area"] == "Characters, areas up to 5"
