"""Matching of the segments of another tool's file with examples of a dataset by source."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError, shorten


class SegmentPlaces:
    """The examples of a dataset by source.

    Segments with equal sources get these examples in turn.
    """

    def __init__(self, dataset: Dataset) -> None:
        """Start with all examples of the dataset unassigned."""
        self._free: dict[str, list[int]] = {}
        for place, example in enumerate(dataset.examples):
            self._free.setdefault(normalise_spaces(example.text), []).append(place)
        self._taken: dict[tuple[object, ...], int] = {}

    def find(self, where: str, key: tuple[object, ...], source: str) -> int:
        """Return the index of a segment's example.

        A new segment gets the next example with its source.

        Args:
            where: a description of the segment for error messages.
            key: identifies the segment in the file.
            source: the source text of the segment.

        Raises:
            InputError: the dataset has no example with this source, or too few of them.
        """
        if key in self._taken:
            return self._taken[key]
        free = self._free.get(normalise_spaces(source))
        if not free:
            problem = "is not in this set" if free is None else "this set has less often"
            raise InputError(
                f'{where} has the source "{shorten(source)}", which {problem}. Choose the set that'
                " was judged."
            )
        self._taken[key] = free.pop(0)
        return self._taken[key]

    def pass_over(self, source: str) -> None:
        """Assign an example to a segment without ratings, if an example with its source is left."""
        free = self._free.get(normalise_spaces(source))
        if free:
            free.pop(0)


def normalise_spaces(text: str) -> str:
    """Return a text in the form in which sources are compared, with single spaces."""
    return " ".join(text.split())


def match_system(name: str, systems: Sequence[str]) -> str:
    """Return the system with this name, except for a file extension, or else the name itself."""
    for one in systems:
        if name in (one, one.rpartition(".")[0]):
            return one
    return name
