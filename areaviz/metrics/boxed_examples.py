"""Examples with known boxes in the memory, which serve to choose the heads of any model.

A query is right if the middle of its heaviest item is in one of its boxes. Shapes: L layers, H
heads, Q queries, N items, W queries with boxes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from areaviz.metrics.linked_examples import KnownExamples, is_count
from areaviz.metrics.pointed_words import PointedWords, bootstrap_hit_interval
from areaviz.metrics.pointing import Box, find_centres_inside, find_coordinates_in_boxes
from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived import Choice
from areaviz.trace.errors import InputError
from areaviz.trace.query import coverage
from areaviz.trace.record import AttentionMap, Trace

Boxes = Mapping[int, Sequence[Box]]
"""The boxes of an example by query, counted from 0.

A box is left, top, right, bottom as shares of the memory, 0 to 1. Texts, sounds and clips have one
row, so their boxes go from top 0 to bottom 1.
"""


@dataclass(frozen=True, slots=True)
class BoxedExample:
    """The queries of one example that have boxes, with the weights of every head."""

    words: PointedWords
    grid: AreaGrid
    queries: int
    boxes: Boxes

    @classmethod
    def of(cls, attention: AttentionMap, boxes: Boxes) -> Self:
        """Read the maps of an example."""
        layers = []
        for layer in range(attention.layers):
            layers.append([coverage(attention, layer, head) for head in range(attention.heads)])
        right = [find_centres_inside(attention.grid, boxes[query]) for query in boxes]
        words = PointedWords.of(np.array(layers), list(boxes), np.array(right))
        return cls(words, attention.grid, attention.weights.shape[2], boxes)


class BoxedExamples(KnownExamples[BoxedExample]):
    """Traces with boxes for some of their queries."""

    noun = "boxes"
    measure = "share of wrong queries"
    place = "the middle"

    @classmethod
    def read(cls, examples: Sequence[tuple[Trace, Boxes]], site: str) -> Self:
        """Read the maps of examples.

        Raises:
            InputError: A query does not exist, or a box is not a rectangle of the memory.
        """
        found = []
        for number, (trace, boxes) in enumerate(examples, 1):
            attention = trace.maps[site]
            _check(number, attention.weights.shape[2], boxes)
            found.append(BoxedExample.of(attention, boxes))
        return cls(found)

    def error(self, heads: Sequence[Choice]) -> float:
        """Return the share of queries that the mean map of heads points at wrongly, 0..1."""
        return self._words().error(heads)

    def interval(self, heads: Sequence[Choice]) -> tuple[float, float]:
        """Return the ends of the 95 % interval of the error."""
        words = self._words()
        low, high = bootstrap_hit_interval(words.hits(heads), words.examples)
        return 1.0 - high, 1.0 - low

    def at_place(self) -> float:
        """Return the error of the middle of the memory, or of equal distances if it has one row."""
        right = []
        for one in self.examples:
            for query, boxes in one.boxes.items():
                across = 0.5 if one.grid.height > 1 else (query + 0.5) / one.queries
                right.append(
                    find_coordinates_in_boxes(np.array([across]), np.array([0.5]), boxes).item()
                )
        return 1.0 - float(np.mean(right))

    def by_position(self, heads: Sequence[Choice]) -> float:
        """Return the error of the places where these heads point in the next example."""
        right = []
        for number, one in enumerate(self.examples):
            other = self.examples[(number + 1) % len(self.examples)]
            tops = other.words.tops(heads)
            for place, boxes in enumerate(one.boxes.values()):
                top = int(tops[min(place, len(tops) - 1)])
                row, column = divmod(top, other.grid.width)
                across = np.array([(column + 0.5) / other.grid.width])
                down = np.array([(row + 0.5) / other.grid.height])
                right.append(find_coordinates_in_boxes(across, down, boxes).item())
        return 1.0 - float(np.mean(right))

    def _words(self) -> PointedWords:
        return PointedWords.joined([one.words for one in self.examples])


def _check(number: int, queries: int, boxes: Any) -> None:
    """Check the boxes of an example.

    Raises:
        InputError: A query does not exist, or a box is not a rectangle of the memory.
    """
    if any(not is_count(query) or not 0 <= query < queries for query in boxes):
        raise InputError(
            f"Example {number} has a box for a query that does not exist. Count queries from 0."
        )
    for some in boxes.values():
        if isinstance(some, str) or not isinstance(some, Sequence) or not some:
            raise InputError(
                f"Example {number} has a query without a list of boxes. Give one or leave it out."
            )
        if not all(map(_is_box, some)):
            raise InputError(
                f"Example {number} has a box that is not a rectangle of the memory. Give left, top,"
                " right and bottom as shares from 0 to 1."
            )


def _is_box(box: Any) -> bool:
    if not isinstance(box, Sequence) or isinstance(box, str) or len(box) != 4:
        return False
    if not all(isinstance(edge, Real) and not isinstance(edge, bool) for edge in box):
        return False
    left, top, right, bottom = box
    return bool(0 <= left < right <= 1 and 0 <= top < bottom <= 1)
