"""Measures in words, and their values as a reader wants them."""

from __future__ import annotations

from areaviz.cards.tasks import TASKS


def measure_name(key: str) -> str:
    """The key of a measure or a setting as words."""
    named = {name: title for task in TASKS.values() for name, title in task.measures.items()}
    return named.get(key) or key.replace("_", " ").capitalize()


def measured(task: str, key: str, value: object) -> str:
    """A measure of a task as a reader wants it: shares in percent."""
    if isinstance(value, float) and key in TASKS[task].percent:
        return f"{value:.2%}"
    return number(value)


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
