"""Numbers as they are printed: a minus sign instead of a hyphen, a dash for none."""

from __future__ import annotations

from math import isfinite

NONE = "–"


def number_text(value: float, form: str) -> str:
    """A number as `format` writes it, with a minus sign; a dash where it is not finite.

    Args:
        value: the number.
        form: of Python's format, such as "+.2f".
    """
    return format(value, form).replace("-", "−") if isfinite(value) else NONE


def three_digits(value: float) -> str:
    """A number in three digits, a whole one in all of them; a dash where it is not finite."""
    return number_text(value, ",.0f" if isfinite(value) and value == round(value) else ".3g")
