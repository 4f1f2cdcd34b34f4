"""Two halves of the examples: one for searching, one for proving.

Examples with the same document, source or file stay in one half. Otherwise a finding could hold in
both halves only because they share a document.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from areaviz.analysis.themes.material import Material
from areaviz.trace.errors import InputError

IntArray = npt.NDArray[np.intp]
# Minimum number of examples in a half, because fewer prove nothing.
MIN_HALF = 32


def split_halves(material: Material, seed: int) -> tuple[IntArray, IntArray]:
    """Return the rows of both halves, each in rising order.

    Args:
        material: the examples.
        seed: the seed that assigns groups to halves.

    Raises:
        InputError: nearly all examples belong to one document, source or file.
    """
    groups = group_related_rows(material)
    rng = np.random.default_rng(seed)
    shuffled = [groups[number] for number in rng.permutation(len(groups))]
    # Assign large groups first, so that small ones can balance them.
    shuffled.sort(key=len, reverse=True)
    halves: tuple[list[int], list[int]] = ([], [])
    for group in shuffled:
        smaller = 0 if len(halves[0]) <= len(halves[1]) else 1
        halves[smaller].extend(group)
    if min(map(len, halves)) < MIN_HALF:
        raise InputError(
            "Nearly all examples share one document, source or file, so they cannot be split"
            " into two independent halves. Use a set with more documents."
        )
    first, second = (np.sort(np.array(half, np.intp)) for half in halves)
    return first, second


def group_related_rows(material: Material) -> list[list[int]]:
    """Return the rows that must stay together, in the order of their first row."""
    keys: list[Sequence[str]] = [
        [" ".join(source.lower().split()) for source in material.sources],
        material.files,
    ]
    if material.documents:
        keys.append(material.documents)
    parents = list(range(len(material)))

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    for column in keys:
        first: dict[str, int] = {}
        for row, key in enumerate(column):
            if key:
                one, other = root(row), root(first.setdefault(key, row))
                parents[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = defaultdict(list)
    for row in range(len(material)):
        groups[root(row)].append(row)
    return list(groups.values())
