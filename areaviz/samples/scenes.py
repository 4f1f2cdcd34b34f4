"""Shape scenes: their grammar in English and German, their drawing, and the scenes.

Read `Scene` and `make_scene` at the end first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageColor, ImageDraw, ImageFilter

from areaviz.samples.dataset import Box, GroundedSentence

# The content of a shape scene, and the sentences that describe it in English and German.
#
# The two sentences of a scene name its objects in the same order. The object that each word
# describes, and therefore its gold box, is known in both languages.


MASK = "?"
"""Text that replaces a hidden word. Only the picture reveals the word."""


class Noun(NamedTuple):
    """The name of a shape in both languages."""

    english: str
    german: str
    # m, f or n.
    gender: str


_NOUNS = """
circle: circle Kreis m
square: square Quadrat n
triangle: triangle Dreieck n
star: star Stern m
cross: cross Kreuz n
ring: ring Ring m
heart: heart Herz n
moon: moon Mond m
rhombus: diamond Raute f
gem: diamond Diamant m
envelope: letter Brief m
glyph: letter Buchstabe m
lock key: key Schlüssel m
piano key: key Taste f
"""
NOUNS: Mapping[str, Noun] = {
    shape: Noun(*names.split())
    for shape, names in (line.split(": ") for line in _NOUNS.strip().splitlines())
}
"""Every shape. Three English nouns have two German translations each, and only the picture shows
which one is meant.
"""

_ENGLISH = Counter(noun.english for noun in NOUNS.values())
AMBIGUOUS = frozenset(shape for shape, noun in NOUNS.items() if _ENGLISH[noun.english] > 1)
COLOURS: Mapping[str, str] = {
    "red": "rot",
    "green": "grün",
    "blue": "blau",
    "yellow": "gelb",
    "orange": "orangefarben",
    "purple": "violett",
    "white": "weiß",
    "black": "schwarz",
}
SIZES: Mapping[str, str] = {"small": "klein", "large": "groß"}
RELATIONS: Mapping[str, str] = {
    "above": "über",
    "below": "unter",
    "left of": "links von",
    "right of": "rechts von",
}

_WEAK = {"Buchstabe": "n", "Diamant": "en"}
"""German nouns that take an ending in all cases except the nominative, with this ending."""
_ENDINGS = {"m": "er", "f": "e", "n": "es"}
"""The endings of German adjectives in the nominative, by gender."""
_ARTICLES = {
    "nominative": {"m": "ein", "f": "eine", "n": "ein"},
    "dative": {"m": "einem", "f": "einer", "n": "einem"},
}


@dataclass(frozen=True, slots=True)
class Object:
    """A shape in a scene."""

    # Keys of NOUNS, COLOURS and SIZES.
    shape: str
    colour: str
    size: str
    # Left, top, right, bottom as shares of the side.
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence, with their objects and kinds."""

    words: tuple[str, ...]
    # For each word, the index of the object it describes, or -1.
    objects: tuple[int, ...]
    # For each word: article, size, colour, noun or relation.
    kinds: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words of the sentence, separated by spaces."""
        return " ".join(self.words)

    def masked(self, *positions: int) -> Sentence:
        """Return the sentence with `MASK` in place of the words at these positions."""
        words = [MASK if index in positions else word for index, word in enumerate(self.words)]
        return Sentence(tuple(words), self.objects, self.kinds)


def write_english(objects: Sequence[Object], relation: str | None) -> Sentence:
    """Return a sentence such as "a small red circle above a large blue square"."""
    return _make_sentence([_write_english_phrase(thing) for thing in objects], relation)


def write_german(objects: Sequence[Object], relation: str | None) -> Sentence:
    """Return a sentence such as "ein kleiner roter Kreis über einem großen blauen Quadrat"."""
    cases = ("nominative", "dative")
    phrases = [
        _write_german_phrase(thing, case) for thing, case in zip(objects, cases, strict=False)
    ]
    return _make_sentence(phrases, RELATIONS[relation] if relation else None)


def _write_english_phrase(thing: Object) -> list[tuple[str, str]]:
    noun = NOUNS[thing.shape].english
    # Only "orange" begins with a vowel among the English words that can follow the article here.
    article = "an" if not thing.size and thing.colour[0] in "aeiou" else "a"
    return _make_phrase(article, thing.size, thing.colour, noun)


def _write_german_phrase(thing: Object, case: str) -> list[tuple[str, str]]:
    noun = NOUNS[thing.shape]
    ending = "en" if case == "dative" else _ENDINGS[noun.gender]
    name = noun.german + (_WEAK.get(noun.german, "") if case == "dative" else "")
    size = SIZES[thing.size] + ending if thing.size else ""
    return _make_phrase(_ARTICLES[case][noun.gender], size, COLOURS[thing.colour] + ending, name)


def _make_phrase(article: str, size: str, colour: str, noun: str) -> list[tuple[str, str]]:
    parts = [(article, "article"), (size, "size"), (colour, "colour"), (noun, "noun")]
    return [(word, kind) for word, kind in parts if word]


def _make_sentence(phrases: Sequence[Sequence[tuple[str, str]]], relation: str | None) -> Sentence:
    rows = [(word, index, kind) for index, phrase in enumerate(phrases) for word, kind in phrase]
    if relation and len(phrases) > 1:
        between = [(word, -1, "relation") for word in relation.split()]
        cut = len(phrases[0])
        rows = [*rows[:cut], *between, *rows[cut:]]
    words, objects, kinds = zip(*rows, strict=True)
    return Sentence(words, objects, kinds)


# Drawing of shapes on backgrounds.
#
# A scene is drawn at twice its size and then scaled down. Drawing needs Pillow.


_OVERSAMPLING = 2
INKS: Mapping[str, tuple[int, int, int]] = {
    "red": (206, 52, 48),
    "green": (46, 150, 84),
    "blue": (48, 98, 196),
    "yellow": (242, 204, 58),
    "orange": (238, 134, 42),
    "purple": (134, 78, 168),
    "white": (246, 246, 242),
    "black": (38, 38, 42),
}
_GROUNDS = ("#d6cdbc", "#bccabe", "#bec8d4", "#d0c2c8", "#cacaca", "#b0bab2")

Pen = ImageDraw.ImageDraw
Points = list[tuple[float, float]]
Shape = Callable[[Pen, Box], object]
"""A function that draws a shape into a box of a mask."""


def draw_scene(
    objects: tuple[Object, ...], side: int, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Draw the objects on a background, each with a soft shadow: uint8 [side, side, 3]."""
    large = side * _OVERSAMPLING
    picture = _make_background(large, rng)
    for thing in objects:
        mask = _make_shape_mask(thing, large)
        blurred = mask.filter(ImageFilter.GaussianBlur(large / 90))
        shadow = blurred.point(lambda value: value * 2 // 5)
        moved = Image.new("L", mask.size)
        moved.paste(shadow, (large // 90, large // 70))
        picture.paste((30, 30, 40), mask=moved)
        picture.paste(_draw_ink_colour(thing.colour, rng), mask=mask)
    return np.asarray(picture.resize((side, side), Image.Resampling.BOX))


def _draw_ink_colour(colour: str, rng: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = np.clip(np.array(INKS[colour]) + rng.integers(-12, 13, 3), 0, 255).tolist()
    return red, green, blue


def _make_background(side: int, rng: np.random.Generator) -> Image.Image:
    """Return a background of a muted colour.

    It has smooth noise at three scales, and sometimes faint stripes.
    """
    light = np.zeros((side, side))
    for cells, strength in ((3, 14), (12, 8), (side // 4, 7)):
        noise = Image.fromarray(rng.normal(0, 1, (cells, cells)).astype(np.float32))
        light += strength * np.asarray(noise.resize((side, side), Image.Resampling.BICUBIC))
    if rng.random() < 0.4:
        angle, period = rng.uniform(0, math.pi), rng.uniform(side / 24, side / 8)
        y, x = np.mgrid[:side, :side]
        across = x * math.cos(angle) + y * math.sin(angle)
        light += 6 * np.sign(np.sin(across * 2 * math.pi / period))
    quiet = ImageColor.getrgb(_GROUNDS[rng.integers(len(_GROUNDS))])
    colour = np.array(quiet) + rng.integers(-10, 11, 3)
    return Image.fromarray(np.clip(colour + light[..., None], 0, 255).astype(np.uint8))


def _make_shape_mask(thing: Object, side: int) -> Image.Image:
    """Return a mask of the whole picture that shows the shape."""
    mask = Image.new("L", (side, side))
    left, top, right, bottom = (value * side for value in thing.box)
    _SHAPES[thing.shape](ImageDraw.Draw(mask), (left, top, right, bottom))
    return mask


def _parse_points(text: str) -> Points:
    """Parse points "x y, x y" of the unit square."""
    points = []
    for point in text.split(", "):
        x, y = point.split()
        points.append((float(x), float(y)))
    return points


def _map_into_box(points: Points, box: Box) -> Points:
    """Map points of the unit square into a box."""
    left, top, right, bottom = box
    return [(left + x * (right - left), top + y * (bottom - top)) for x, y in points]


def _get_part_of_box(corners: str, box: Box) -> Box:
    """Return a part of a box.

    `corners` is "left top, right bottom", as shares of the box's width and height.
    """
    (left, top), (right, bottom) = _map_into_box(_parse_points(corners), box)
    return left, top, right, bottom


def _make_polygon_shape(points: Points) -> Shape:
    return lambda pen, box: pen.polygon(_map_into_box(points, box), fill=255)


def _draw_line(pen: Pen, box: Box, points: str, width: int, fill: int = 0) -> None:
    pen.line(_map_into_box(_parse_points(points), box), fill=fill, width=width)


def _compute_line_width(box: Box) -> float:
    return box[2] - box[0]


def _draw_circle(pen: Pen, box: Box) -> None:
    pen.ellipse(box, fill=255)


def _draw_ring(pen: Pen, box: Box) -> None:
    pen.ellipse(box, fill=255)
    pen.ellipse(_get_part_of_box("0.27 0.27, 0.73 0.73", box), fill=0)


def _draw_moon(pen: Pen, box: Box) -> None:
    pen.ellipse(_get_part_of_box("0 0, 1 1", box), fill=255)
    pen.ellipse(_get_part_of_box("0.32 -0.08, 1.18 0.82", box), fill=0)


def _make_heart_points() -> Points:
    points = []
    for i in range(60):
        a = 2 * math.pi * i / 60
        x = math.sin(a) ** 3
        lobes = 13 / 16 * math.cos(a) - 5 / 16 * math.cos(2 * a)
        y = lobes - math.cos(3 * a) / 8 - math.cos(4 * a) / 16
        points.append((0.5 + x / 2, 0.43 - y * 0.53))
    return points


def _make_star_points() -> Points:
    points = []
    for corner in range(10):
        radius, angle = (0.53, 0.22)[corner % 2], math.pi * (corner / 5 - 0.5)
        points.append((0.5 + radius * math.cos(angle), 0.53 + radius * math.sin(angle)))
    return points


def _draw_gem(pen: Pen, box: Box) -> None:
    outline = _parse_points("0.22 0.1, 0.78 0.1, 1 0.38, 0.5 0.96, 0 0.38")
    pen.polygon(_map_into_box(outline, box), fill=255)
    width = max(2, round(_compute_line_width(box) / 16))
    for edge in ("0.02 0.38, 0.98 0.38", "0.34 0.38, 0.5 0.92", "0.66 0.38, 0.5 0.92"):
        _draw_line(pen, box, edge, width)


def _draw_envelope(pen: Pen, box: Box) -> None:
    pen.rectangle(_get_part_of_box("0 0.16, 1 0.84", box), fill=255)
    width = max(2, round(_compute_line_width(box) / 13))
    _draw_line(pen, box, "0.02 0.18, 0.5 0.58, 0.98 0.18", width)


def _draw_glyph(pen: Pen, box: Box) -> None:
    width = round(_compute_line_width(box) / 5.5)
    legs = _map_into_box(_parse_points("0.12 0.98, 0.5 0.06, 0.88 0.98"), box)
    pen.line(legs, fill=255, width=width, joint="curve")
    _draw_line(pen, box, "0.26 0.66, 0.74 0.66", width, fill=255)


def _lock_key(pen: Pen, box: Box) -> None:
    pen.ellipse(_get_part_of_box("0 0.26, 0.46 0.74", box), fill=255)
    pen.ellipse(_get_part_of_box("0.14 0.4, 0.32 0.6", box), fill=0)
    for bar in ("0.42 0.44, 1 0.57", "0.9 0.5, 1 0.78", "0.7 0.5, 0.8 0.72"):
        pen.rectangle(_get_part_of_box(bar, box), fill=255)


def _draw_piano_key(pen: Pen, box: Box) -> None:
    pen.rounded_rectangle(box, radius=_compute_line_width(box) * 0.18, fill=255)
    inner = _get_part_of_box("0.13 0.1, 0.87 0.8", box)
    pen.rounded_rectangle(inner, radius=_compute_line_width(box) * 0.12, outline=0, width=3)
    _draw_line(pen, box, "0.34 0.45, 0.66 0.45", 4)


_CROSS = (
    "0.33 0, 0.67 0, 0.67 0.33, 1 0.33, 1 0.67, 0.67 0.67, "
    "0.67 1, 0.33 1, 0.33 0.67, 0 0.67, 0 0.33, 0.33 0.33"
)
_SHAPES: Mapping[str, Shape] = {
    "circle": _draw_circle,
    "square": _make_polygon_shape(_parse_points("0.03 0.03, 0.97 0.03, 0.97 0.97, 0.03 0.97")),
    "triangle": _make_polygon_shape(_parse_points("0.5 0, 1 0.94, 0 0.94")),
    "star": _make_polygon_shape(_make_star_points()),
    "cross": _make_polygon_shape(_parse_points(_CROSS)),
    "ring": _draw_ring,
    "heart": _make_polygon_shape(_make_heart_points()),
    "moon": _draw_moon,
    "rhombus": _make_polygon_shape(_parse_points("0.5 0, 0.9 0.5, 0.5 1, 0.1 0.5")),
    "gem": _draw_gem,
    "envelope": _draw_envelope,
    "glyph": _draw_glyph,
    "lock key": _lock_key,
    "piano key": _draw_piano_key,
}


# Shape scenes: coloured shapes in spatial relations, with sentences that describe them.
#
# Scenes are generated, and no copyright restricts their use. A scene has one to three objects. Its
# sentence describes one object, or two objects and their relation. The split and number of a scene
# determine it completely.


SCENE_PIXELS = 128
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

    def pixels(self, side: int = SCENE_PIXELS) -> npt.NDArray[np.uint8]:
        """Return the picture: uint8 [side, side, 3]. Needs Pillow."""
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
