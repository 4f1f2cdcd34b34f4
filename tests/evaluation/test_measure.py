"""The head that points best is chosen on "val", never on the set it is tested on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from areaviz.cards.card import Opening
from areaviz.lab.measure import check_chosen, choose_pointing_head
from areaviz.trace.errors import InputError
from tests.pages import folder

MEASURED = {(0, 1): {"pointing": 0.2}, (1, 0): {"pointing": 0.7}}
CARD = folder.card("scene-area", "area")


def test_val_chooses_the_best() -> None:
    assert choose_pointing_head(CARD, "val", MEASURED) == (1, 0)


def test_test_uses_the_head_that_val_chose() -> None:
    opening = {"encoder-decoder": Opening("coverage", 1, 1, pointing_head=(0, 1))}
    chosen = replace(CARD, opening=opening)
    assert choose_pointing_head(chosen, "test", MEASURED) == (0, 1)


def test_test_without_val_is_refused() -> None:
    bare = replace(CARD, opening={})
    with pytest.raises(InputError, match='Measure the split "val" first: .* not on "test"'):
        choose_pointing_head(bare, "test", MEASURED)
    check_chosen(bare, "val")
