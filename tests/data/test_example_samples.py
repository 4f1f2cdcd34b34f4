"""The app's own datasets have right answers for their examples, for every kind of model."""

from __future__ import annotations

import re

import pytest

from areaviz.samples.dataset import POINTS
from areaviz.samples.digits import CLIP_FRAMES
from areaviz.samples.own_media import SOUND_SAMPLES, get_sound_sample
from areaviz.samples.sample_sets import SAMPLE_SETS, SCENES
from areaviz.trace.request import Request


@pytest.mark.parametrize("name", SAMPLE_SETS)
def test_every_example_has_right_answer_and_unique_name(name: str) -> None:
    found = SAMPLE_SETS[name]()
    # The answer for points depends on the question and is computed. Sentences to read have no
    # answer.
    is_told = found.texts == POINTS or name == "Sentences to read"
    assert all(example.references for example in found.examples) != is_told
    assert len({example.name for example in found.examples}) == len(found.examples)
    assert SAMPLE_SETS[name]().digest == found.digest


def test_scenes_have_their_pictures() -> None:
    found = SAMPLE_SETS["Scenes to describe"]()
    assert len(found.examples) == SCENES
    picture = found.asked(Request("m", ""), found.examples[3]).picture
    assert picture is not None and (picture.width, picture.height) == (128, 128)


def test_spoken_digits_are_the_recordings_and_new_combinations() -> None:
    found = SAMPLE_SETS["Spoken digits"]()
    for example in found.examples[: len(SOUND_SAMPLES)]:
        sound = found.asked(Request("m", ""), example).sound
        assert sound is not None and sound.pcm == get_sound_sample(example.name).pcm
        assert example.references == (SOUND_SAMPLES[example.name].text,)
    digits = {letter for one in found.examples for letter in one.references[0]}
    runs = [one for one in found.examples if re.search(r"(.)\1\1", one.references[0])]
    assert digits == set("0123456789") and len(runs) >= 10
    for example in found.examples[len(SOUND_SAMPLES) :]:
        sound = found.asked(Request("m", ""), example).sound
        # This is the duration of a digit and the pause after it.
        assert sound is not None
        assert 0.3 < sound.seconds / len(example.references[0]) < 0.9


def test_moving_digits_state_their_actions() -> None:
    found = SAMPLE_SETS["Moving digits"]()
    clip = found.asked(Request("m", ""), found.examples[0]).clip
    assert clip is not None and clip.frames == CLIP_FRAMES
    texts = {one.references[0] for one in found.examples}
    assert len(texts) > 30
    assert all(re.fullmatch(r"the \w+ \w+.* and then .*", text) for text in texts)


def test_cluttered_digits_have_their_ink_box() -> None:
    found = SAMPLE_SETS["Digits among clutter"]()
    assert (found.texts, found.kind, len(found.examples)) == ("digits", "cluttered", 60)
    assert {one.references[0] for one in found.examples} == set("0123456789")
    for example in found.examples[:5]:
        picture = found.picture(example)
        assert picture is not None and picture.width == picture.height == 60
        ((word, box),) = example.boxes
        left, top, right, bottom = (round(60 * one) for one in box)
        ink = picture.pixels[top:bottom, left:right, 0] > 32
        assert word == example.references[0]
        # The box is tight: there is ink on each of its sides.
        assert ink[0].any() and ink[-1].any() and ink[:, 0].any() and ink[:, -1].any()
