"""Words of a scene's sentence that only the picture shows, and how often they are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.samples.scenes import AMBIGUOUS, Scene, Sentence

KINDS = ("colour", "noun", "ambiguous")
"""The kinds of tested words: a hidden colour, a hidden noun with two German translations, and a
visible noun with two translations.
"""


@dataclass(frozen=True, slots=True)
class TestedWord:
    """One word that is tested."""

    # Index of the scene.
    number: int
    # Source text.
    source: str
    # Index of the word in the translation.
    place: int
    # The right word.
    word: str


def choose_tested_words(scenes: Sequence[Scene], kind: str) -> list[TestedWord]:
    """Return the tested word of each scene, for a kind of `KINDS`.

    Scenes without such a word are left out.
    """
    found = []
    for number, scene in enumerate(scenes):
        one = _choose_tested_word(number, scene, kind)
        if one is not None:
            found.append(one)
    return found


def compute_share_of_right_words(translations: Sequence[str], asked: Sequence[TestedWord]) -> float:
    """Return the share of translations with the right word at its place, 0 to 1."""
    right = 0
    for text, one in zip(translations, asked, strict=True):
        right += text.split()[one.place : one.place + 1] == [one.word]
    return right / len(asked)


def _choose_tested_word(number: int, scene: Scene, kind: str) -> TestedWord | None:
    """Return the tested word of a suitable object.

    It is the first suitable object of the scene, or the last one if `number` is even.
    """
    things = []
    for index, spoken in enumerate(scene.spoken):
        if kind == "colour" or spoken.shape in AMBIGUOUS:
            things.append(index)
    if not things:
        return None
    thing = things[-1] if number % 2 == 0 else things[0]
    word = "colour" if kind == "colour" else "noun"
    source = scene.english
    if kind != "ambiguous":
        source = source.masked(_find_place(source, thing, word))
    place = _find_place(scene.german, thing, word)
    return TestedWord(number, source.text, place, scene.german.words[place])


def _find_place(sentence: Sentence, thing: int, kind: str) -> int:
    """Return the position in a sentence of the colour or the noun of an object."""
    return list(zip(sentence.objects, sentence.kinds, strict=True)).index((thing, kind))
