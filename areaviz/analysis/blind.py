"""Blind rating: each rater sees the systems without their names, in an order of their own.

The order follows from the set, the rater's name and the names of the systems, so a rater who comes
back sees the same one, and whoever knows these three can name the systems again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def shuffle_systems(dataset: str, rater: str, systems: Sequence[str]) -> list[int]:
    """Return the places of the systems in the order in which a rater sees them.

    The order does not depend on the order in which the systems are given, unless two have one name.

    Args:
        dataset: the digest of the set.
        rater: the rater's name.
        systems: the names of the systems.
    """

    def key(place: int) -> tuple[bytes, int]:
        named = "\0".join((dataset, rater, systems[place]))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest(), place

    return sorted(range(len(systems)), key=key)


def alias_of(number: int) -> str:
    """Return what a rater reads in place of the name of a system; number: its place, from 0."""
    return f"System {number + 1}"


def key_table(dataset: str, raters: Sequence[str], systems: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a row for each rater: the rater's name, then the system behind each alias.

    Args:
        dataset: the digest of the set.
        raters: their names.
        systems: the names of the systems.
    """
    rows = []
    for rater in raters:
        order = shuffle_systems(dataset, rater, systems)
        rows.append((rater, *(systems[place] for place in order)))
    return rows
