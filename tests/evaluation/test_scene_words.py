"""Words that only the picture reveals are tested, and must be in the right place."""

from __future__ import annotations

import pytest

from areaviz.lab.tasks.picture_translation import (
    WORD_KINDS,
    choose_tested_words,
    compute_share_of_right_words,
)
from areaviz.samples.scenes import AMBIGUOUS, COLOURS, MASK, NOUNS, make_scene

SCENES = [make_scene("samples", number) for number in range(60)]


@pytest.mark.parametrize("kind", WORD_KINDS)
def test_one_word_of_one_object_is_hidden(kind: str) -> None:
    asked = choose_tested_words(SCENES, kind)
    assert asked
    for one in asked:
        scene = SCENES[one.number]
        told, words = one.source.split(), scene.english.text.split()
        hidden = [i for i, (a, b) in enumerate(zip(told, words, strict=True)) if a != b]
        assert len(hidden) == (0 if kind == "ambiguous" else 1) == one.source.count(MASK)
        thing = scene.german.objects[one.place]
        if hidden:
            assert scene.english.objects[hidden[0]] == thing
        spoken = scene.spoken[thing]
        if kind == "colour":
            assert one.word.startswith(COLOURS[spoken.colour])
        else:
            assert spoken.shape in AMBIGUOUS and one.word.startswith(NOUNS[spoken.shape].german)


def test_noun_is_hidden_only_in_ambiguous_scenes() -> None:
    numbers = {one.number for one in choose_tested_words(SCENES, "noun")}
    expected = {
        n
        for n, scene in enumerate(SCENES)
        if any(thing.shape in AMBIGUOUS for thing in scene.spoken)
    }
    assert numbers == expected < set(range(60))


def test_right_words_are_counted_at_their_position() -> None:
    asked = choose_tested_words(SCENES, "colour")[:3]
    true = [SCENES[one.number].german.text for one in asked]
    assert compute_share_of_right_words(true, asked) == 1
    assert compute_share_of_right_words([true[0], "", "x " + true[2]], asked) == pytest.approx(
        1 / 3
    )
