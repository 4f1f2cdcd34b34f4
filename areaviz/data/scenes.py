"""Shape scenes: coloured shapes in spatial relations, with sentences that say so. Generated, free
of rights.

A scene has one to three objects; the sentence speaks of one, or of two and how they lie. Every
scene follows from its split and number alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from areaviz.data.grounding import Grounded
from areaviz.data.scene_grammar import (
    AMBIGUOUS,
    COLOURS,
    NOUNS,
    RELATIONS,
    SIZES,
    Object,
    Sentence,
    english,
    german,
)

SIDE = 128
SPLITS = {"train": 1, "val": 2, "test": 3, "samples": 4}
"""Each split has a seed of its own, so their scenes are drawn independently."""
SIZES_OF_SPLITS = {"train": 20000, "val": 1000, "test": 1000}
"""How many scenes models are trained, chosen and measured on."""

_EXTENT = {"small": (0.16, 0.22), "large": (0.32, 0.4)}


@dataclass(frozen=True, slots=True)
class Scene:
    """Objects, those spoken of first; relation: of the first two, a key of RELATIONS, or None for
    one object.
    """

    split: str
    number: int
    objects: tuple[Object, ...]
    relation: str | None

    @property
    def spoken(self) -> tuple[Object, ...]:
        """The objects the sentence speaks of."""
        return self.objects[: 2 if self.relation else 1]

    @property
    def english(self) -> Sentence:
        """What the scene shows, in English."""
        return english(self.spoken, self.relation)

    @property
    def german(self) -> Sentence:
        """What the scene shows, in German."""
        return german(self.spoken, self.relation)

    @property
    def grounded(self) -> Grounded:
        """The English sentence with the boxes of its size, colour and shape words."""
        return _grounded(english(self.spoken, self.relation), self.spoken)

    @property
    def german_grounded(self) -> Grounded:
        """The German sentence with the boxes of its size, colour and shape words."""
        return _grounded(german(self.spoken, self.relation), self.spoken)

    def true_sentences(self) -> Mapping[str, Grounded]:
        """Every English sentence of the grammar that this scene shows, with the boxes
        of its words.
        """
        single = [_grounded(english((thing,), None), (thing,)) for thing in self.objects]
        pairs = [
            _grounded(english(pair, _relation(*pair)), pair)
            for pair in permutations(self.objects, 2)
        ]
        return {sentence.text: sentence for sentence in [*single, *pairs]}

    def pixels(self, side: int = SIDE) -> npt.NDArray[np.uint8]:
        """The picture: uint8 [side, side, 3]. Needs Pillow."""
        from areaviz.data.scene_drawing import draw_scene

        return draw_scene(
            self.objects, side, np.random.default_rng((SPLITS[self.split], self.number, 1))
        )


def scenes_of(split: str) -> list[Scene]:
    """All scenes of "train", "val" or "test"."""
    return [make_scene(split, number) for number in range(SIZES_OF_SPLITS[split])]


def make_scene(split: str, number: int) -> Scene:
    """The scene of a split, "train", "val", "test" or "samples", by its number."""
    rng = np.random.default_rng((SPLITS[split], number))
    count = int(rng.choice([1, 2, 3], p=[0.2, 0.45, 0.35]))
    boxes, sizes = _layout(count, rng)
    names = _names(count, rng)
    objects = tuple(
        Object(shape, colour, size, box)
        for (shape, colour), size, box in zip(names, sizes, boxes, strict=True)
    )
    return Scene(split, number, objects, _relation(objects[0], objects[1]) if count > 1 else None)


def _names(count: int, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Shapes and colours; no two objects share their English noun, and half of the first are
    ambiguous ones.
    """
    ambiguous, plain = sorted(AMBIGUOUS), sorted(set(NOUNS) - AMBIGUOUS)
    chosen: list[tuple[str, str]] = []
    while len(chosen) < count:
        shape = str(rng.choice(ambiguous if rng.random() < 0.45 else plain))
        colour = str(rng.choice(sorted(COLOURS)))
        taken = {NOUNS[other].english for other, _ in chosen}
        if NOUNS[shape].english not in taken and colour not in {c for _, c in chosen}:
            chosen.append((shape, colour))
    return chosen


def _layout(
    count: int, rng: np.random.Generator
) -> tuple[list[tuple[float, float, float, float]], list[str]]:
    """Boxes that keep apart, and their sizes; the first two lie clearly above, below, left or right
    of each other.
    """
    while True:
        sizes = [str(rng.choice(sorted(SIZES))) for _ in range(count)]
        extents = [float(rng.uniform(*_EXTENT[size])) for size in sizes]
        corners = [rng.uniform(0.03, 0.97 - extent, 2) for extent in extents]
        boxes = [
            (float(x), float(y), float(x) + extent, float(y) + extent)
            for (x, y), extent in zip(corners, extents, strict=True)
        ]
        apart = all(_apart(boxes[i], boxes[j]) for i in range(count) for j in range(i))
        if apart and (count < 2 or _clear(boxes[0], boxes[1])):
            return boxes, sizes


def _apart(one: tuple[float, ...], other: tuple[float, ...], gap: float = 0.03) -> bool:
    return (
        one[0] > other[2] + gap
        or other[0] > one[2] + gap
        or one[1] > other[3] + gap
        or other[1] > one[3] + gap
    )


def _clear(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether the direction between the middles is within 30 degrees of an axis."""
    across, down = _between(one, other)
    return min(abs(across), abs(down)) < math.tan(math.pi / 6) * max(abs(across), abs(down))


def _between(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, float]:
    return (other[0] + other[2] - one[0] - one[2]) / 2, (other[1] + other[3] - one[1] - one[3]) / 2


def _grounded(sentence: Sentence, spoken: Sequence[Object]) -> Grounded:
    """What is said of these objects, with their boxes."""
    told = zip(sentence.objects, sentence.kinds, strict=True)
    places = [
        (index, (spoken[thing].box,))
        for index, (thing, kind) in enumerate(told)
        if kind in ("size", "colour", "noun")
    ]
    return Grounded(sentence.text, tuple(places))


def _relation(one: Object, other: Object) -> str:
    """How the first lies to the second."""
    across, down = _between(one.box, other.box)
    names = sorted(RELATIONS)  # above, below, left of, right of
    if abs(down) > abs(across):
        return names[0] if down > 0 else names[1]
    return names[2] if across > 0 else names[3]
