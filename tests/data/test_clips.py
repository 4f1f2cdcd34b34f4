"""Clips are converted to the form that the video captioner was trained on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.media.clips import choose_frames, prepare_frames
from areaviz.samples.digits import CLIP_FRAMES, CLIP_SIDE, DigitBank, make_moving_digits

COUNTS = st.integers(1, 300), st.integers(2, 40)


def noise(frames: int, height: int, width: int) -> np.ndarray:
    """Return grey noise that is dark at its edges."""
    grey = np.random.default_rng(0).integers(0, 256, (frames, height, width)).astype(np.uint8)
    grey[:, [0, -1]] //= 4
    grey[:, :, [0, -1]] //= 4
    return np.stack([grey] * 3, 3)


@given(*COUNTS)
def test_frames_are_chosen_evenly_including_both_ends(frames: int, wanted: int) -> None:
    chosen = choose_frames(frames, wanted)
    assert chosen.dtype == np.int64 and len(chosen) == wanted
    assert chosen[0] == 0 and chosen[-1] == frames - 1
    for number, frame in enumerate(chosen):
        assert abs(frame - number * (frames - 1) / (wanted - 1)) <= 0.5 + 1e-9
    steps = np.diff(chosen)
    assert steps.min() >= 0 and steps.max() - steps.min() <= 1


def test_chosen_frames_known_answers() -> None:
    assert choose_frames(16, 16).tolist() == list(range(16))
    assert choose_frames(7, 4).tolist() == [0, 2, 4, 6]
    assert choose_frames(2, 6).tolist() == [0, 0, 0, 1, 1, 1]
    assert choose_frames(1, 3).tolist() == [0, 0, 0]


def test_training_clips_are_watched_unchanged() -> None:
    made = make_moving_digits(DigitBank(1, 5), np.random.default_rng(0), 1)[0].frames
    seen = prepare_frames(np.stack([made] * 3, 3), CLIP_FRAMES, CLIP_SIDE)
    assert np.array_equal(seen, made)
    # At twice the size, the clip is equal apart from smoothing.
    larger = np.stack([made.repeat(2, 1).repeat(2, 2)] * 3, 3)
    again = prepare_frames(larger, CLIP_FRAMES, CLIP_SIDE)
    assert again.shape == made.shape and again.dtype == np.uint8
    assert np.corrcoef(again.ravel(), made.ravel())[0, 1] > 0.95


@pytest.mark.parametrize(("height", "width"), [(10, 40), (40, 10), (20, 20), (1, 128)])
def test_frame_keeps_proportions_centred_in_a_square(height: int, width: int) -> None:
    pixels = np.full((3, height, width, 3), 90, np.uint8)
    seen = prepare_frames(pixels, 4, 16)
    assert seen.shape == (4, 16, 16) and seen.dtype == np.uint8
    rows, columns = (max(1, round(16 * side / max(height, width))) for side in (height, width))
    inside = np.zeros((16, 16), bool)
    top, left = (16 - rows) // 2, (16 - columns) // 2
    inside[top : top + rows, left : left + columns] = True
    assert (seen[:, inside] == 90).all() and (seen[:, ~inside] == 0).all()


def test_colours_become_perceived_grey() -> None:
    pixels = np.zeros((2, 4, 4, 3), np.uint8)
    pixels[..., :] = 10, 200, 60
    assert (prepare_frames(pixels, 2, 4) == round(0.299 * 10 + 0.587 * 200 + 0.114 * 60)).all()


@pytest.mark.parametrize("side", [8, 12, 30])
def test_dark_on_light_becomes_its_negative(side: int) -> None:
    light_on_dark = noise(5, 12, 12)
    one, other = (prepare_frames(clip, 5, side) for clip in (light_on_dark, 255 - light_on_dark))
    assert np.abs(one.astype(int) - other).max() <= 1
    assert one.max() > 127


def test_background_comes_from_edges_of_all_frames() -> None:
    clip = np.full((3, 9, 9, 3), 240, np.uint8)
    clip[0] = 10
    # Most edges are light, so all frames are inverted, including the dark one.
    assert prepare_frames(clip, 3, 9)[:, 4, 4].tolist() == [245, 15, 15]
    # A light digit that fills most of a dark background does not make the background light.
    digit = np.zeros((3, 9, 9, 3), np.uint8)
    digit[:, 1:-1, 1:-1] = 240
    assert prepare_frames(digit, 3, 9)[:, 4, 4].tolist() == [240] * 3


def test_watching_does_not_modify_the_clip() -> None:
    clip = 255 - noise(3, 6, 6)
    before = clip.copy()
    prepare_frames(clip, 3, 12)
    assert np.array_equal(clip, before)


def test_colour_clip_is_only_padded_to_a_square() -> None:
    clip = 255 - noise(3, 6, 12)
    clip[..., 1] //= 2
    seen = prepare_frames(clip, 3, 12, colour=True)
    assert seen.shape == (3, 12, 12, 3) and seen.dtype == np.uint8
    # Colour clips are not inverted, despite light edges. They are padded with black.
    assert np.array_equal(seen[:, 3:9], clip)
    assert (seen[:, :3] == 0).all() and (seen[:, 9:] == 0).all()
