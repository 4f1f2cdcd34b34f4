"""What every refusal is: one sentence."""

from __future__ import annotations

from areaviz.trace.errors import InputError


def assert_one_sentence(error: InputError) -> None:
    """It ends with a full stop, is short, has one sentence and does not shout."""
    text = str(error)
    assert text.endswith(".") and "\n" not in text and len(text) < 220
    assert ". " not in text and "!" not in text
