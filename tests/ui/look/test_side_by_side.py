"""Translations side by side: what is said of how they differ."""

from __future__ import annotations

import pytest

from areaviz.ui.look.side_by_side import _difference
from areaviz.ui.shell.markdown import escaped


@pytest.mark.parametrize(
    ("written", "first", "said"),
    [
        ("ein Hund", "ein Hund", "the same as the first"),
        ("Hund ein", "ein Hund", "the same words in another order"),
        ("eine Katze", "ein Hund", "“eine”, “Katze” instead of “ein”, “Hund”"),
        ("ein roter Hund", "ein Hund", "also “roter”"),
        ("ein Hund", "ein roter Hund", "without “roter”"),
        ("rot rot rot", "blau", "“rot” instead of “blau”"),
    ],
)
def test_differences_are_told_in_words(written: str, first: str, said: str) -> None:
    assert _difference(written, first) == escaped(said)


def test_markup_in_words_stays_text() -> None:
    assert "**" not in _difference("**x**", "y")
