"""The type of a column of metadata: numbers, categories, or free text."""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_CATEGORIES = 30
"""Maximum number of distinct values in a column of categories. More values count as free text."""
MISSING = frozenset(("", "nan", "na", "n/a", "none", "null"))
"""Contents of a cell, in lower case, that mean a missing value."""


def number_of(cell: str) -> float | None:
    """Return the finite number that a cell contains, or None for any other text."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python reads "1_000" as a number. Other programs do not write numbers so, so it is text here.
    return value if math.isfinite(value) and "_" not in cell else None


def is_missing(cell: str) -> bool:
    """Return whether a cell is empty or means a missing value, such as "n/a"."""
    return cell.strip().lower() in MISSING


def parse_numbers(values: Sequence[str]) -> tuple[float, ...] | None:
    """Return a column as numbers, NaN where a value is missing.

    Args:
        values: The cells of the column.

    Returns:
        One number for each cell, or None if a cell holds text or no cell holds a number.
    """
    found: list[float] = []
    for value in values:
        number = number_of(value)
        if number is None and not is_missing(value):
            return None
        found.append(math.nan if number is None else number)
    return tuple(found) if any(map(math.isfinite, found)) else None


def list_categories(values: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct values of a column in alphabetical order, without the empty one.

    Args:
        values: The cells of the column.

    Returns:
        At most `MAX_CATEGORIES` values, or () for a column of free text or without values.
    """
    found = {value for value in values if value}
    return tuple(sorted(found)) if len(found) <= MAX_CATEGORIES else ()
