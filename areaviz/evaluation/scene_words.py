"""Words of a scene's sentence that only its picture tells: what is asked, and how often a
translation has it right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.data.scene_grammar import AMBIGUOUS, Sentence
from areaviz.data.scenes import Scene

KINDS = ("colour", "noun", "ambiguous")
"""A hidden colour, a hidden noun that has two German words, and such a noun left as it is."""


@dataclass(frozen=True, slots=True)
class Asked:
    """number: of the scene, in the order given. source: what is translated. place: which word of
    the translation is asked for. word: what it must be.
    """

    number: int
    source: str
    place: int
    word: str


def asked_words(scenes: Sequence[Scene], kind: str) -> list[Asked]:
    """What is asked of each scene, for a kind of KINDS; scenes without such a word are left out."""
    found = (_asked(number, scene, kind) for number, scene in enumerate(scenes))
    return [one for one in found if one is not None]


def right_words(translations: Sequence[str], asked: Sequence[Asked]) -> float:
    """The share of the translations that have the word in its place, 0..1."""
    rows = zip((text.split() for text in translations), asked, strict=True)
    return sum(words[one.place : one.place + 1] == [one.word] for words, one in rows) / len(asked)


def _asked(number: int, scene: Scene, kind: str) -> Asked | None:
    """Of the first object that has such a word; scenes with an even number are asked of the last
    one.
    """
    things = [
        i for i, thing in enumerate(scene.spoken) if kind == "colour" or thing.shape in AMBIGUOUS
    ]
    if not things:
        return None
    thing = things[-1 if number % 2 == 0 else 0]
    word = "colour" if kind == "colour" else "noun"
    source = (
        scene.english
        if kind == "ambiguous"
        else scene.english.masked(_place(scene.english, thing, word))
    )
    place = _place(scene.german, thing, word)
    return Asked(number, source.text, place, scene.german.words[place])


def _place(sentence: Sentence, thing: int, kind: str) -> int:
    """Where a sentence says the colour or the noun of an object."""
    return list(zip(sentence.objects, sentence.kinds, strict=True)).index((thing, kind))
