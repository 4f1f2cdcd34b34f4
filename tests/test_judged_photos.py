"""The table of judged photographs says what the models say today."""

from __future__ import annotations

from tests.judged_photos import PATH, document


def test_captions_of_the_photos_are_what_the_models_say() -> None:
    text = PATH.read_text(encoding="utf-8")
    assert document(text) == text, "run: python -m tests.judged_photos"
