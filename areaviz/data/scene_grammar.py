"""What is in a shape scene and how English and German say it.

Two sentences a scene name the same objects in the same order, so that each word's object, and with
it its gold box, is known in both languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MASK = "?"
"""Stands in a sentence for a word that only the picture tells."""


@dataclass(frozen=True, slots=True)
class Noun:
    """english and german name of a shape; gender: m, f or n."""

    english: str
    german: str
    gender: str


NOUNS: Mapping[str, Noun] = {
    "circle": Noun("circle", "Kreis", "m"),
    "square": Noun("square", "Quadrat", "n"),
    "triangle": Noun("triangle", "Dreieck", "n"),
    "star": Noun("star", "Stern", "m"),
    "cross": Noun("cross", "Kreuz", "n"),
    "ring": Noun("ring", "Ring", "m"),
    "heart": Noun("heart", "Herz", "n"),
    "moon": Noun("moon", "Mond", "m"),
    "rhombus": Noun("diamond", "Raute", "f"),
    "gem": Noun("diamond", "Diamant", "m"),
    "envelope": Noun("letter", "Brief", "m"),
    "glyph": Noun("letter", "Buchstabe", "m"),
    "lock key": Noun("key", "Schlüssel", "m"),
    "piano key": Noun("key", "Taste", "f"),
}
"""Every shape. Three English nouns have two German ones each: which is meant, only the picture
tells.
"""

AMBIGUOUS = frozenset(
    shape
    for shape, noun in NOUNS.items()
    if sum(noun.english == other.english for other in NOUNS.values()) > 1
)
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
"""What weak nouns end in, in all cases but the nominative."""
_ENDINGS = {("nominative", "m"): "er", ("nominative", "f"): "e", ("nominative", "n"): "es"}
_ARTICLES = {
    ("nominative", "m"): "ein",
    ("nominative", "f"): "eine",
    ("nominative", "n"): "ein",
    ("dative", "m"): "einem",
    ("dative", "f"): "einer",
    ("dative", "n"): "einem",
}


@dataclass(frozen=True, slots=True)
class Object:
    """One shape: keys of NOUNS, COLOURS and SIZES, and its box: left, top, right, bottom as shares
    of the side.
    """

    shape: str
    colour: str
    size: str
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words with, for each, the index of the object it speaks of, or -1, and its kind.

    kinds: article, size, colour, noun or relation.
    """

    words: tuple[str, ...]
    objects: tuple[int, ...]
    kinds: tuple[str, ...]

    @property
    def text(self) -> str:
        """The words with blanks between them."""
        return " ".join(self.words)

    def masked(self, *positions: int) -> Sentence:
        """The same with the words at these positions hidden; nothing else gives them away."""
        words = [MASK if index in positions else word for index, word in enumerate(self.words)]
        return Sentence(tuple(words), self.objects, self.kinds)


def english(objects: Sequence[Object], relation: str | None) -> Sentence:
    """ "a small red circle above a large blue square"."""
    return _sentence([_english(thing) for thing in objects], relation)


def german(objects: Sequence[Object], relation: str | None) -> Sentence:
    """ "ein kleiner roter Kreis über einem großen blauen Quadrat"."""
    cases = ("nominative", "dative")
    phrases = [_german(thing, case) for thing, case in zip(objects, cases, strict=False)]
    return _sentence(phrases, RELATIONS[relation] if relation else None)


def _english(thing: Object) -> list[tuple[str, str]]:
    noun = NOUNS[thing.shape].english
    # No English word of these scenes that can follow the article begins with a vowel but "orange".
    article = "an" if not thing.size and thing.colour[0] in "aeiou" else "a"
    return _phrase(article, thing.size, thing.colour, noun)


def _german(thing: Object, case: str) -> list[tuple[str, str]]:
    noun = NOUNS[thing.shape]
    ending = "en" if case == "dative" else _ENDINGS[case, noun.gender]
    name = noun.german + (_WEAK.get(noun.german, "") if case == "dative" else "")
    size = SIZES[thing.size] + ending if thing.size else ""
    return _phrase(_ARTICLES[case, noun.gender], size, COLOURS[thing.colour] + ending, name)


def _phrase(article: str, size: str, colour: str, noun: str) -> list[tuple[str, str]]:
    parts = [(article, "article"), (size, "size"), (colour, "colour"), (noun, "noun")]
    return [(word, kind) for word, kind in parts if word]


def _sentence(phrases: Sequence[Sequence[tuple[str, str]]], relation: str | None) -> Sentence:
    rows = [(word, index, kind) for index, phrase in enumerate(phrases) for word, kind in phrase]
    if relation and len(phrases) > 1:
        between = [(word, -1, "relation") for word in relation.split()]
        cut = len(phrases[0])
        rows = [*rows[:cut], *between, *rows[cut:]]
    words, objects, kinds = zip(*rows, strict=True)
    return Sentence(words, objects, kinds)
