"""Shape scenes: coloured shapes in spatial relations, with sentences that describe them.

Scenes are generated, and no copyright restricts their use. A scene has one to three objects. Its
sentence describes one object, or two objects and their relation. The split and number of a scene
determine it completely.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from areaviz.data.grounding import Box, GroundedSentence
from areaviz.data.scene_grammar import (
    AMBIGUOUS,
    COLOURS,
    NOUNS,
    SIZES,
    Object,
    Sentence,
    write_english,
    write_german,
)

SIDE = 128
SPLITS = {"train": 1, "val": 2, "test": 3, "samples": 4}
"""The seed of each split. The scenes of different splits are independent."""
SIZES_OF_SPLITS = {"train": 20000, "val": 1000, "test": 1000}
"""Number of scenes for training, for choosing checkpoints and for measuring."""

TIE = 0.1
"""Two objects are diagonal if the horizontal and vertical distances of their centres differ by less
than this share of the picture's side.
"""
_GAP = 0.03
"""Minimum gap between the boxes of two objects, as a share of the picture's side."""
_EXTENT = {"small": (0.16, 0.22), "large": (0.32, 0.4)}


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene of one to three shapes."""

    split: str
    number: int
    # The objects of the sentence come first.
    objects: tuple[Object, ...]
    # Relation of the first object to the second, a key of RELATIONS, or None for one object.
    relation: str | None

    @property
    def spoken(self) -> tuple[Object, ...]:
        """The objects that the sentence describes."""
        return self.objects[: 2 if self.relation else 1]

    @property
    def english(self) -> Sentence:
        """The English sentence of the scene."""
        return write_english(self.spoken, self.relation)

    @property
    def german(self) -> Sentence:
        """The German sentence of the scene."""
        return write_german(self.spoken, self.relation)

    @property
    def grounded(self) -> GroundedSentence:
        """The English sentence with the boxes of its size, colour and shape words."""
        return _ground_sentence(self.english, self.spoken)

    @property
    def german_grounded(self) -> GroundedSentence:
        """The German sentence with the boxes of its size, colour and shape words."""
        return _ground_sentence(self.german, self.spoken)

    def list_true_sentences(self, tie: float = 0.0) -> Mapping[str, GroundedSentence]:
        """Return every true English sentence of the grammar, with the boxes of its words.

        Args:
            tie: If the horizontal and vertical distances of two centres differ by less than this
                share of the side, both relations count as true.
        """
        found = [
            _ground_sentence(write_english((thing,), None), (thing,)) for thing in self.objects
        ]
        for pair in permutations(self.objects, 2):
            for relation in _find_relations(*pair, tie):
                found.append(_ground_sentence(write_english(pair, relation), pair))
        return {sentence.text: sentence for sentence in found}

    def clear_sentences(self) -> tuple[GroundedSentence, ...]:
        """Return every true English sentence with as many objects as the scene's own sentence.

        Pairs of objects appear in both orders.

        Diagonal pairs are left out, because two relations could describe them.
        """
        if self.relation is None:
            return (self.grounded,)
        found = []
        for pair in permutations(self.objects, 2):
            if _has_clear_direction(pair[0].box, pair[1].box):
                found.append(_ground_sentence(write_english(pair, _find_relation(*pair)), pair))
        return tuple(found)

    def pixels(self, side: int = SIDE) -> npt.NDArray[np.uint8]:
        """Return the picture: uint8 [side, side, 3]. Needs Pillow."""
        from areaviz.data.scene_drawing import draw_scene

        rng = np.random.default_rng((SPLITS[self.split], self.number, 1))
        return draw_scene(self.objects, side, rng)


def make_scenes(split: str) -> list[Scene]:
    """Return all scenes of "train", "val" or "test"."""
    return [make_scene(split, number) for number in range(SIZES_OF_SPLITS[split])]


def make_scene(split: str, number: int) -> Scene:
    """Return the scene with this number of a split, "train", "val", "test" or "samples"."""
    rng = np.random.default_rng((SPLITS[split], number))
    count = int(rng.choice([1, 2, 3], p=[0.2, 0.45, 0.35]))
    boxes, sizes = _draw_layout(count, rng)
    names = _draw_names(count, rng)
    objects = []
    for (shape, colour), size, box in zip(names, sizes, boxes, strict=True):
        objects.append(Object(shape, colour, size, box))
    relation = _find_relation(objects[0], objects[1]) if count > 1 else None
    return Scene(split, number, tuple(objects), relation)


def _draw_names(count: int, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Return a random shape and colour for each of `count` objects.

    No two objects share an English noun or a colour.
    """
    ambiguous, plain = sorted(AMBIGUOUS), sorted(set(NOUNS) - AMBIGUOUS)
    chosen: list[tuple[str, str]] = []
    while len(chosen) < count:
        shape = str(rng.choice(ambiguous if rng.random() < 0.45 else plain))
        colour = str(rng.choice(sorted(COLOURS)))
        taken = [NOUNS[other].english for other, _ in chosen] + [other for _, other in chosen]
        if NOUNS[shape].english not in taken and colour not in taken:
            chosen.append((shape, colour))
    return chosen


def _draw_layout(count: int, rng: np.random.Generator) -> tuple[list[Box], list[str]]:
    """Return random boxes that do not touch, and the size of each, a key of `SIZES`.

    The first two boxes are clearly above or beside each other.
    """
    while True:
        sizes = [str(rng.choice(sorted(SIZES))) for _ in range(count)]
        extents = [float(rng.uniform(*_EXTENT[size])) for size in sizes]
        corners = [rng.uniform(0.03, 0.97 - extent, 2) for extent in extents]
        boxes = []
        for corner, extent in zip(corners, extents, strict=True):
            x, y = corner.tolist()
            boxes.append((x, y, x + extent, y + extent))
        apart = all(_are_apart(one, other) for one, other in combinations(boxes, 2))
        if apart and (count < 2 or _has_clear_direction(boxes[0], boxes[1])):
            return boxes, sizes


def _are_apart(one: Box, other: Box) -> bool:
    left = max(one[0], other[0]) > min(one[2], other[2]) + _GAP
    return left or max(one[1], other[1]) > min(one[3], other[3]) + _GAP


def _has_clear_direction(one: Box, other: Box) -> bool:
    """Return whether the direction between the centres is within 30 degrees of an axis."""
    across, down = map(abs, _measure_shift(one, other))
    return min(across, down) < math.tan(math.pi / 6) * max(across, down)


def _measure_shift(one: Box, other: Box) -> tuple[float, float]:
    """Return the shift from the centre of one box to that of the other, to the right and down."""
    left, top, right, bottom = one
    return (other[0] + other[2] - left - right) / 2, (other[1] + other[3] - top - bottom) / 2


def _ground_sentence(sentence: Sentence, spoken: Sequence[Object]) -> GroundedSentence:
    """Return the sentence with the boxes of the objects that it describes."""
    places = []
    for index, kind in enumerate(sentence.kinds):
        if kind in ("size", "colour", "noun"):
            places.append((index, (spoken[sentence.objects[index]].box,)))
    return GroundedSentence(sentence.text, tuple(places))


def _find_relation(one: Object, other: Object) -> str:
    """Return the relation of the first object to the second."""
    return _find_relations(one, other)[0]


def _find_relations(one: Object, other: Object, tie: float = 0.0) -> list[str]:
    """Return the relation of the first object to the second.

    If the horizontal and vertical distances differ by less than `tie`, return both relations.
    """
    across, down = _measure_shift(one.box, other.box)
    found = ["left of" if across > 0 else "right of", "above" if down > 0 else "below"]
    if abs(down) > abs(across):
        found.reverse()
    return found if abs(abs(down) - abs(across)) < tie else found[:1]
