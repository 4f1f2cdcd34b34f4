"""What every refusal is: one or two short sentences."""

from __future__ import annotations

from areaviz.trace.errors import InputError


def assert_one_sentence(error: InputError) -> None:
    """Check that a refusal is short and does not shout: what is wrong, and perhaps what to do."""
    text = str(error)
    assert text.endswith(".") and "\n" not in text and len(text) < 220
    assert text.count(". ") <= 1 and "!" not in text
