"""The places of the segments of another tool's file in a set: they are found by their sources."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.data.examples import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shorten


class SegmentPlaces:
    """The places of segments in a set. Segments with one source are its examples in turn."""

    def __init__(self, dataset: Dataset) -> None:
        """Start with all examples of the set free."""
        self._free: dict[str, list[int]] = {}
        for place, example in enumerate(dataset.examples):
            self._free.setdefault(normalise_spaces(example.text), []).append(place)
        self._taken: dict[tuple[object, ...], int] = {}

    def find(self, where: str, key: tuple[object, ...], source: str) -> int:
        """Return the place of a segment; a new one takes the next example with its source.

        Args:
            where: the segment, for people.
            key: what tells the segments of the file apart.
            source: its source.

        Raises:
            InputError: the set has no example with this source, or too few.
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
        """Take an example for a segment of which nothing was said, if there is one."""
        free = self._free.get(normalise_spaces(source))
        if free:
            free.pop(0)


def normalise_spaces(text: str) -> str:
    """Return a text as sources are compared: all white space is alike."""
    return " ".join(text.split())


def match_system(name: str, systems: Sequence[str]) -> str:
    """Return the system with a name, or with a name and an ending; else the name itself."""
    for one in systems:
        if name in (one, one.rpartition(".")[0]):
            return one
    return name
