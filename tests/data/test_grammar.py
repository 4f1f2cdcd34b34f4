"""Sentences about scenes, compared with sentences written by hand."""

from __future__ import annotations

import pytest

from areaviz.samples.scenes import (
    AMBIGUOUS,
    COLOURS,
    MASK,
    NOUNS,
    RELATIONS,
    SIZES,
    Object,
    write_english,
    write_german,
)

BOX = (0.0, 0.0, 0.1, 0.1)


def thing(text: str) -> Object:
    """Parse an object such as "small red lock key": a size, a colour, and the shape."""
    size, colour, shape = text.split(" ", 2)
    return Object(shape, colour, size, BOX)


ALONE = [
    ("small red circle", "a small red circle", "ein kleiner roter Kreis"),
    ("large green square", "a large green square", "ein großes grünes Quadrat"),
    ("small blue triangle", "a small blue triangle", "ein kleines blaues Dreieck"),
    ("large yellow star", "a large yellow star", "ein großer gelber Stern"),
    ("small orange cross", "a small orange cross", "ein kleines orangefarbenes Kreuz"),
    ("large purple ring", "a large purple ring", "ein großer violetter Ring"),
    ("small white heart", "a small white heart", "ein kleines weißes Herz"),
    ("large black moon", "a large black moon", "ein großer schwarzer Mond"),
    ("small red rhombus", "a small red diamond", "eine kleine rote Raute"),
    ("small red gem", "a small red diamond", "ein kleiner roter Diamant"),
    ("large white envelope", "a large white letter", "ein großer weißer Brief"),
    ("large white glyph", "a large white letter", "ein großer weißer Buchstabe"),
    ("small black lock key", "a small black key", "ein kleiner schwarzer Schlüssel"),
    ("small black piano key", "a small black key", "eine kleine schwarze Taste"),
]
TWO = [
    (
        "large red envelope",
        "below",
        "small green gem",
        "ein großer roter Brief unter einem kleinen grünen Diamanten",
    ),
    (
        "small red circle",
        "above",
        "large blue square",
        "ein kleiner roter Kreis über einem großen blauen Quadrat",
    ),
    (
        "large green moon",
        "below",
        "small white rhombus",
        "ein großer grüner Mond unter einer kleinen weißen Raute",
    ),
    (
        "small red ring",
        "left of",
        "large black glyph",
        "ein kleiner roter Ring links von einem großen schwarzen Buchstaben",
    ),
    (
        "large yellow piano key",
        "right of",
        "small purple lock key",
        "eine große gelbe Taste rechts von einem kleinen violetten Schlüssel",
    ),
    (
        "small blue heart",
        "above",
        "large orange piano key",
        "ein kleines blaues Herz über einer großen orangefarbenen Taste",
    ),
    (
        "large red envelope",
        "below",
        "small green heart",
        "ein großer roter Brief unter einem kleinen grünen Herz",
    ),
]
"""Pairs of objects with their German text.

After `ein`, adjectives have strong endings in the nominative and -en in the dative.
"""


@pytest.mark.parametrize(("spoken", "in_english", "in_german"), ALONE)
def test_one_object(spoken: str, in_english: str, in_german: str) -> None:
    assert write_english([thing(spoken)], None).text == in_english
    assert write_german([thing(spoken)], None).text == in_german


def test_every_shape_is_among_the_cases() -> None:
    assert {thing(spoken).shape for spoken, _, _ in ALONE} == set(NOUNS)
    assert {thing(spoken).colour for spoken, _, _ in ALONE} == set(COLOURS)
    assert {thing(spoken).size for spoken, _, _ in ALONE} == set(SIZES)
    assert {relation for _, relation, _, _ in TWO} == set(RELATIONS)


@pytest.mark.parametrize(("one", "relation", "other", "in_german"), TWO)
def test_two_objects_in_german(one: str, relation: str, other: str, in_german: str) -> None:
    assert write_german([thing(one), thing(other)], relation).text == in_german


def test_two_objects_in_english() -> None:
    pair = [thing("small red circle"), thing("large blue lock key")]
    assert write_english(pair, "left of").text == "a small red circle left of a large blue key"


@pytest.mark.parametrize("say", [write_english, write_german])
def test_every_word_has_its_object_and_kind(say: object) -> None:
    assert callable(say)
    sentence = say([thing("small red circle"), thing("large blue glyph")], "right of")
    phrase = ("article", "size", "colour", "noun")
    assert sentence.kinds == (*phrase, "relation", "relation", *phrase)
    assert sentence.objects == (0, 0, 0, 0, -1, -1, 1, 1, 1, 1)
    assert len(sentence.words) == 10 and sentence.text.split(" ") == list(sentence.words)


def test_omitted_word_leaves_no_gap() -> None:
    plain = Object("circle", "orange", "", BOX)
    assert write_english([plain], None).text == "an orange circle"
    assert write_german([plain], None).text == "ein orangefarbener Kreis"


def test_masks_hide_exactly_their_words() -> None:
    sentence = write_english([thing("small red circle")], None)
    hidden = sentence.masked(2, 3)
    assert hidden.text == f"a small {MASK} {MASK}"
    assert (hidden.objects, hidden.kinds) == (sentence.objects, sentence.kinds)
    assert sentence.masked() == sentence


@pytest.mark.parametrize("size", SIZES)
def test_sentence_does_not_reveal_masked_word(size: str) -> None:
    """The masked English sentence does not depend on the word behind the mask."""
    for position, texts in (
        (
            2,
            {
                write_english([Object("star", colour, size, BOX)], None).masked(2).text
                for colour in COLOURS
            },
        ),
        (
            3,
            {
                write_english([Object(shape, "red", size, BOX)], None).masked(3).text
                for shape in NOUNS
            },
        ),
    ):
        assert len(texts) == 1, position


def test_three_english_nouns_have_two_german_translations() -> None:
    meanings: dict[str, set[str]] = {}
    for shape in AMBIGUOUS:
        meanings.setdefault(NOUNS[shape].english, set()).add(NOUNS[shape].german)
    assert meanings == {
        "diamond": {"Raute", "Diamant"},
        "letter": {"Brief", "Buchstabe"},
        "key": {"Schlüssel", "Taste"},
    }
    plain = [noun.english for shape, noun in NOUNS.items() if shape not in AMBIGUOUS]
    assert len(set(plain)) == len(plain)
