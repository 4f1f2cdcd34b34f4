"""Translations side by side: words that differ, and words that the picture decides."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from areaviz.app.translate_picture import _mark_differences, find_decided_word, light_decided_word
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.views.message import OPENS_AT
from tests import fakes


@pytest.mark.parametrize(
    ("written", "first", "said"),
    [
        ("ein Hund", "ein Hund", "ein Hund"),
        ("eine Katze", "ein Hund", "**eine** **Katze**"),
        ("ein roter Hund", "ein Hund", "ein **roter** Hund"),
        ("ein Hund", "ein roter Hund", "ein Hund"),
        ("", "ein Hund", "The model produced no output."),
    ],
)
def test_compared_marks_words_missing_from_first_output(
    written: str, first: str, said: str
) -> None:
    assert _mark_differences(written, first) == said


def test_compared_leaves_markup_text() -> None:
    assert _mark_differences("*x* <b>", "y").replace("\\", "") == "***x*** **<b>**"
    assert "\\*x\\*" in _mark_differences("*x*", "y")


def worded(name: str, text: str) -> Field:
    """Return a text with one item for each word."""
    found = list(re.finditer(r"\S+", text))
    anchors = np.array([one.span() for one in found])
    return Field(name, "text", text, tuple(one.group() for one in found), anchors)


def translation(source: str = "a ? key") -> Trace:
    """Return words "ein roter Hut" that attend to the second word by 0.2, 0.5 and 0.9."""
    made = fakes.trace()
    fields = {
        "source": worded("source", source),
        "target": worded("target", "ein roter Hut"),
    }
    weights = np.array([[[[0.8, 0.2, 0], [0.5, 0.5, 0], [0.1, 0.9, 0]]]], np.float32)
    attention = AttentionMap("encoder-decoder", "target", "source", AreaGrid(1, 3, 1, 1), weights)
    maps = {"encoder-decoder": attention}
    return replace(made, fields=fields, maps=maps)


def test_decided_word_attends_to_the_hidden_word_and_differs() -> None:
    assert find_decided_word(translation(), ["ein blauer Hut"]) == 1
    assert find_decided_word(translation(), ["ein roter Hut"]) == 2, "no word differs"
    assert find_decided_word(translation("a red key"), ["ein blauer Hut"]) is None


def test_only_run_with_picture_opens_at_decided_word() -> None:
    first, other = light_decided_word([translation(), replace(translation(), details={})])
    assert first.details[OPENS_AT] == "2" and OPENS_AT not in other.details
    assert light_decided_word([translation("a red key")])[0].details == translation().details
