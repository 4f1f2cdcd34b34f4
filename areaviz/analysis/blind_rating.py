"""Blind rating, in which each rater sees the systems without names and in a personal order.

The order depends on the dataset, the rater's name and the names of the systems. A returning rater
sees the systems in an unchanged order, and anyone who knows these three values can identify the
systems.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def shuffle_systems(dataset: str, rater: str, systems: Sequence[str]) -> list[int]:
    """Return the indices of the systems in the order in which a rater sees them.

    The order does not depend on the order of `systems`, unless two systems share a name.

    Args:
        dataset: the digest of the dataset.
        rater: the rater's name.
        systems: the names of the systems.
    """

    def key(place: int) -> tuple[bytes, int]:
        named = "\0".join((dataset, rater, systems[place]))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest(), place

    return sorted(range(len(systems)), key=key)


def name_alias(number: int) -> str:
    """Return the name that raters see for the system at this position of their order, from 0."""
    return f"System {number + 1}"


def build_key_table(
    dataset: str, raters: Sequence[str], systems: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return a row for each rater: the rater's name, then the system behind each alias.

    Args:
        dataset: the digest of the dataset.
        raters: the names of the raters.
        systems: the names of the systems.
    """
    rows = []
    for rater in raters:
        order = shuffle_systems(dataset, rater, systems)
        rows.append((rater, *(systems[place] for place in order)))
    return rows
