"""Where models look, on test, stands beside looks that know nothing."""

from __future__ import annotations

from dataclasses import replace

from areaviz.lab.tables import look_lines
from tests.pages import folder

CARD = replace(folder.card("a", "area"), task="speech")


def test_looks_on_test_are_listed_with_baselines() -> None:
    found = {"hit": 0.99, "hit_diagonal": 0.85, "hit_untrained": 0.125}
    attention = {"encoder-decoder, val": {"hit": 0.5}, "encoder-decoder, test": found}
    lines = list(look_lines("speech", [replace(CARD, attention=attention), CARD]))
    assert lines[0] == "**Does it listen where the digit is spoken?**"
    assert lines[2] == "| Model | Share | Measured | Equal distances | Untrained |"
    row = "| `a` | Digits whose heaviest moment is where they are spoken | 99.0% | 85.0% | 12.5% |"
    assert lines[4] == row and "Equal distances: the time" in lines[6]


def test_models_without_looks_have_no_table() -> None:
    assert not list(look_lines("speech", [CARD])) and not list(look_lines("translation", [CARD]))
