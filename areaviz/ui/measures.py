"""Measures in words, and their values as a reader wants them."""

from __future__ import annotations

from collections.abc import Mapping

MEASURES: Mapping[str, str] = {"bleu": "BLEU", "bleu_lowercase": "BLEU, lower-cased", "chrf": "chrF"}
"""The measures of translation that stand out on a card, by their key in `Card.figures`."""


def measure_name(key: str) -> str:
    """The key of a measure or a setting as words."""
    return MEASURES.get(key) or key.replace("_", " ").capitalize()


def number(value: object, decimals: int = 2) -> str:
    """A value with so many decimals if it is no whole number; a dash where there is none."""
    match value:
        case None:
            return "–"
        case float():
            return f"{value:,.{decimals}f}"
        case int():
            return f"{value:,}"
    return str(value)
