"""The content of a shape scene, and the sentences that describe it in English and German.

The two sentences of a scene name its objects in the same order. The object that each word
describes, and therefore its gold box, is known in both languages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
