"""The table of judged photographs says what the models say today."""

from __future__ import annotations

from tests.judged_photos import PATH, document


def test_judged_captions_match_the_models() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert document(text) == text, "run: python -m tests.judged_photos"
