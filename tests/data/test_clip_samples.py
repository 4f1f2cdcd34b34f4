"""The app's own clips exist, and their digits act when the samples say so."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lab.tasks.clips import SEEDS, TRAIN_SEED, VALID_SEED
from areaviz.samples.digits import (
    ACTIONS,
    CLIP_FRAMES,
    CLIP_SIDE,
    DigitBank,
    MovingDigit,
    render_actions,
)
from areaviz.samples.own_media import CLIP_SAMPLES, ENLARGED, SEED, get_clip_sample, make_clip
from areaviz.trace.errors import InputError
from tests.trace.sentence import assert_one_sentence


@pytest.mark.parametrize("name", CLIP_SAMPLES)
def test_digit_moves_only_during_its_action(name: str) -> None:
    sample, clip = CLIP_SAMPLES[name], get_clip_sample(name)
    clip.check()
    assert clip.name == name and clip.frames == CLIP_FRAMES
    assert clip.width == clip.height == CLIP_SIDE * ENLARGED
    changes_T = np.abs(np.diff(clip.pixels.astype(int), axis=0)).mean((1, 2, 3))
    acts: list[float] = []
    still: list[float] = []
    for frame, change in enumerate(changes_T, start=1):
        inside = any(start <= frame < end for start, end in sample.windows)
        (acts if inside else still).append(change)
    assert min(acts) > max(still)


@pytest.mark.parametrize("name", CLIP_SAMPLES)
def test_clip_sentence_matches_its_frames(name: str) -> None:
    sample = CLIP_SAMPLES[name]
    frames = get_clip_sample(name).pixels[..., 0]
    made = MovingDigit(frames, sample.digit, sample.actions, sample.windows)
    assert sample.text == made.text and sample.title.lower() == sample.text
    assert sample.title[0] == "T" and set(sample.actions) <= set(ACTIONS)
    (start, end), (again, last) = sample.windows
    assert 0 <= start < end < again < last <= CLIP_FRAMES
    # Users count frames from 1, and the last frame is included.
    assert sample.acts == f"{start + 1} {end} {again + 1} {last}"
    assert set(made.gold()) == {None, *sample.windows}


def test_samples_differ_and_are_reproducible() -> None:
    clips = [get_clip_sample(name) for name in CLIP_SAMPLES]
    assert (
        len({clip.digest for clip in clips})
        == len({one.text for one in CLIP_SAMPLES.values()})
        == 5
    )
    get_clip_sample.cache_clear()
    assert [get_clip_sample(name) for name in CLIP_SAMPLES] == clips


def test_sample_seed_is_not_used_elsewhere() -> None:
    assert len({SEED, TRAIN_SEED, VALID_SEED, *SEEDS.values()}) == 5


def test_drawn_clip_is_doubled_in_size_and_grey() -> None:
    plan = (7, ("grows", "moves up"), ((1, 5), (7, 11)))
    moving = render_actions(DigitBank(1, 0), np.random.default_rng(0), [plan])[0]
    clip = make_clip("drawn", moving)
    clip.check()
    for channel in range(3):
        assert np.array_equal(clip.pixels[:, ::2, ::2, channel], moving.frames)
        assert np.array_equal(clip.pixels[:, 1::2, 1::2, channel], moving.frames)


def test_unknown_clip_gives_one_sentence() -> None:
    for name in ("nothing", "", "x" * 500):
        with pytest.raises(InputError, match="Choose one of: three-left-grows") as caught:
            get_clip_sample(name)
        assert_one_sentence(caught.value)
