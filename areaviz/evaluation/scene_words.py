"""Words of a scene's sentence that only its picture tells, and how often they are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.data.scene_grammar import AMBIGUOUS, Sentence
from areaviz.data.scenes import Scene

KINDS = ("colour", "noun", "ambiguous")
"""A hidden colour, a hidden noun that has two German words, and such a noun left as it is."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One word that is asked for."""

    # of the scene, in the order given
    number: int
    # what is translated
    source: str
    # which word of the translation it is
    place: int
    # what it must be
    word: str


def asked_words(scenes: Sequence[Scene], kind: str) -> list[Asked]:
    """What is asked of each scene, for a kind of KINDS; scenes without such a word are left out."""
    found = []
    for number, scene in enumerate(scenes):
        one = _asked(number, scene, kind)
        if one is not None:
            found.append(one)
    return found


def right_words(translations: Sequence[str], asked: Sequence[Asked]) -> float:
    """The share of the translations that have the word in its place, 0..1."""
    right = 0
    for text, one in zip(translations, asked, strict=True):
        right += text.split()[one.place : one.place + 1] == [one.word]
    return right / len(asked)


def _asked(number: int, scene: Scene, kind: str) -> Asked | None:
    """The word of the first object that has such a one; of the last, if `number` is even."""
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
        source = source.masked(_place(source, thing, word))
    place = _place(scene.german, thing, word)
    return Asked(number, source.text, place, scene.german.words[place])


def _place(sentence: Sentence, thing: int, kind: str) -> int:
    """Where a sentence says the colour or the noun of an object."""
    return list(zip(sentence.objects, sentence.kinds, strict=True)).index((thing, kind))
