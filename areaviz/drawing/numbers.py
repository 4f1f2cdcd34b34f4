"""Numbers in print: a minus sign instead of a hyphen, and a dash for a missing number."""

from __future__ import annotations

from math import isfinite

NONE = "–"


def number_text(value: float, form: str) -> str:
    """Format a number with a minus sign, or as a dash if it is not finite.

    Args:
        value: the number.
        form: a format specification of Python, such as "+.2f".
    """
    return format(value, form).replace("-", "−") if isfinite(value) else NONE


def format_three_digits(value: float) -> str:
    """Format a number with three digits, or a whole number with all of its digits.

    A number that is not finite becomes a dash.
    """
    return number_text(value, ",.0f" if isfinite(value) and value == round(value) else ".3g")
