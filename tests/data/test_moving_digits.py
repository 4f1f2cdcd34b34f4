"""Clips of digits: the sentence's actions happen in their windows, and nothing else happens.

Shapes: T frames, S side in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from areaviz.samples import digits as module
from areaviz.samples.digits import (
    ACTIONS,
    CLIP_FRAMES,
    CLIP_FUNCTION_WORDS,
    CLIP_SIDE,
    DIGITS,
    DigitBank,
    MovingDigit,
    make_moving_digits,
    render_actions,
)

WINDOWS = ((2, 6), (9, 13))
PAUSES = ((1, 6), (8, 13))
"""The frames before and after each of these windows."""
LEVEL = 100
"""A grey level above all noise and below nearly all of a digit."""
Frame = npt.NDArray[np.uint8]


@pytest.fixture(scope="module")
def bank() -> DigitBank:
    return DigitBank(2, seed=5)


@pytest.fixture(scope="module")
def clips(bank: DigitBank) -> list[MovingDigit]:
    return make_moving_digits(bank, np.random.default_rng(0), 150)


def ink(frame_SS: Frame) -> Frame:
    """Return a frame without its noise."""
    return np.where(frame_SS > LEVEL, frame_SS, 0).astype(np.uint8)


def centre(frame_SS: Frame) -> tuple[float, float]:
    """Return the centre of the ink, across and down."""
    weights_SS = ink(frame_SS) / ink(frame_SS).sum(dtype=float)
    y, x = np.mgrid[:CLIP_SIDE, :CLIP_SIDE]
    return float((weights_SS * x).sum()), float((weights_SS * y).sum())


def extent(frame_SS: Frame) -> float:
    """Return the standard deviation of the ink's distance from its centre."""
    weights_SS = ink(frame_SS) / ink(frame_SS).sum(dtype=float)
    y, x = np.mgrid[:CLIP_SIDE, :CLIP_SIDE]
    across, down = centre(frame_SS)
    return float(np.sqrt((weights_SS * ((x - across) ** 2 + (y - down) ** 2)).sum()))


def likeness(before_SS: Frame, after_SS: Frame, turn: float, size: float) -> float:
    """Return how well ink matches other ink after a clockwise turn, scaling and a move, up to 1."""
    (left, top), (x, y) = centre(before_SS), centre(after_SS)
    cosine, sine = np.cos(2 * np.pi * turn) / size, np.sin(2 * np.pi * turn) / size
    # The map goes from a position in the later picture back to the earlier one.
    across = (cosine, sine, left - cosine * x - sine * y)
    down = (-sine, cosine, top + sine * x - cosine * y)
    moved = Image.fromarray(ink(before_SS)).transform(
        (CLIP_SIDE, CLIP_SIDE), Image.Transform.AFFINE, across + down, Image.Resampling.BILINEAR
    )
    one, other = np.asarray(moved, float), ink(after_SS).astype(float)
    return float((one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum()))


def pairs(name: str, bank: DigitBank, digits: Sequence[int]) -> list[tuple[Frame, Frame]]:
    """Return the frames before and after an action, which is combined with every other action."""
    plans = []
    places: list[tuple[int, int]] = []
    for digit in digits:
        for other in ACTIONS:
            if other != name:
                plans += [(digit, (name, other), WINDOWS), (digit, (other, name), WINDOWS)]
                places += PAUSES
    made = render_actions(bank, np.random.default_rng(1), plans)
    return [(c.frames[b], c.frames[a]) for c, (b, a) in zip(made, places, strict=True)]


@pytest.mark.parametrize("name", ACTIONS)
def test_digit_does_only_what_the_words_say(name: str, bank: DigitBank) -> None:
    action = ACTIONS[name]
    for before, after in pairs(name, bank, (2, 4, 7)):
        (left, top), (x, y) = centre(before), centre(after)
        assert x - left == pytest.approx(action.across * CLIP_SIDE, abs=1.5)
        assert y - top == pytest.approx(action.down * CLIP_SIDE, abs=1.5)
        assert extent(after) / extent(before) == pytest.approx(action.size, rel=0.08)
        like = {
            turn: likeness(before, after, turn, action.size) for turn in (-0.2, -0.1, 0.0, 0.1, 0.2)
        }
        assert max(like, key=like.__getitem__) == action.turn


def test_action_directions_follow_picture_axes() -> None:
    signs = {}
    for name, action in ACTIONS.items():
        parts = (action.across, action.down, action.turn, np.log(action.size))
        signs[name] = tuple(np.sign(parts).astype(int).tolist())
    assert signs == {
        "moves left": (-1, 0, 0, 0),
        "moves right": (1, 0, 0, 0),
        "moves up": (0, -1, 0, 0),
        "moves down": (0, 1, 0, 0),
        "turns left": (0, 0, -1, 0),
        "turns right": (0, 0, 1, 0),
        "grows": (0, 0, 0, 1),
        "shrinks": (0, 0, 0, -1),
    }


def test_motion_happens_only_within_the_windows(
    bank: DigitBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_NOISE", 0.0)
    for clip in make_moving_digits(bank, np.random.default_rng(2), 60):
        changes_T = np.abs(np.diff(clip.frames.astype(int), axis=0)).mean((1, 2))
        for frame, change in enumerate(changes_T, start=1):
            acts = any(start <= frame < end for start, end in clip.windows)
            assert change > 0.4 if acts else change == 0


def test_noise_is_present_and_below_motion(clips: list[MovingDigit]) -> None:
    still: list[float] = []
    moving: list[float] = []
    for clip in clips:
        changes_T = np.abs(np.diff(clip.frames.astype(int), axis=0)).mean((1, 2))
        for frame, change in enumerate(changes_T, start=1):
            acts = any(start <= frame < end for start, end in clip.windows)
            (moving if acts else still).append(change)
    assert min(still) > 4 and max(still) < 11 < np.percentile(moving, 10)
    assert np.mean(moving) > 1.5 * np.mean(still)


def test_digits_stay_within_the_picture(clips: list[MovingDigit]) -> None:
    inked = np.stack([clip.frames > LEVEL for clip in clips])
    border = inked.copy()
    border[:, :, 1:-1, 1:-1] = False
    assert border.sum() < 0.001 * inked.sum()
    # A digit is always visible and large enough to read.
    assert inked.sum((2, 3)).min() > 30


def test_text_names_digit_and_both_actions_in_order() -> None:
    frames = np.zeros((CLIP_FRAMES, CLIP_SIDE, CLIP_SIDE), np.uint8)
    clip = MovingDigit(frames, 3, ("moves left", "grows"), ((1, 6), (9, 14)))
    assert clip.text == "the three moves left and then grows"
    first, second = (1, 6), (9, 14)
    assert clip.gold() == [None, None, first, first, None, None, second]


def test_every_action_word_has_its_window() -> None:
    frames = np.zeros((CLIP_FRAMES, CLIP_SIDE, CLIP_SIDE), np.uint8)
    for first, second in permutations(ACTIONS, 2):
        clip = MovingDigit(frames, 0, (first, second), WINDOWS)
        told: dict[object, list[str]] = {None: [], WINDOWS[0]: [], WINDOWS[1]: []}
        for word, window in zip(clip.text.split(), clip.gold(), strict=True):
            told[window].append(word)
        assert told[WINDOWS[0]] == first.split() and told[WINDOWS[1]] == second.split()
        assert told[None] == ["the", "zero", "and", "then"]
        assert set(told[None]) - CLIP_FUNCTION_WORDS == {"zero"}


def test_plans_are_drawn_within_their_limits(clips: list[MovingDigit]) -> None:
    for clip in clips:
        (start, end), (again, last) = clip.windows
        assert start >= 0 and 3 <= end - start <= 5
        assert end < again and 3 <= last - again <= 5 and last <= CLIP_FRAMES
        assert clip.actions[0] != clip.actions[1]
        assert (
            clip.frames.shape == (CLIP_FRAMES, CLIP_SIDE, CLIP_SIDE)
            and clip.frames.dtype == np.uint8
        )
    assert {clip.digit for clip in clips} == set(range(len(DIGITS)))
    for which in (0, 1):
        assert {clip.actions[which] for clip in clips} == set(ACTIONS)
        assert {end - start for start, end in (c.windows[which] for c in clips)} == {3, 4, 5}


def test_frame_number_alone_predicts_action_poorly(clips: list[MovingDigit]) -> None:
    within_2T = np.zeros((2, CLIP_FRAMES))
    for clip in clips:
        for which, (start, end) in enumerate(clip.windows):
            within_2T[which, start:end] += 1 / len(clips)
    assert within_2T.max() < 0.78
    assert min(clip.windows[0][0] for clip in clips) == 0
    assert max(clip.windows[1][1] for clip in clips) == CLIP_FRAMES


def test_equal_seeds_draw_equal_clips() -> None:
    one, same, other = (
        make_moving_digits(DigitBank(1, seed), np.random.default_rng(7), 4) for seed in (3, 3, 4)
    )
    for clip, twin, stranger in zip(one, same, other, strict=True):
        assert np.array_equal(clip.frames, twin.frames)
        assert (clip.text, clip.windows) == (twin.text, twin.windows)
        # A bank with another seed draws differently, but the plans are equal.
        assert clip.text == stranger.text and not np.array_equal(clip.frames, stranger.frames)
    later = make_moving_digits(DigitBank(1, 3), np.random.default_rng(8), 4)
    assert [clip.windows for clip in later] != [clip.windows for clip in one]


def test_bank_gives_the_requested_digit() -> None:
    many, rng = DigitBank(3, seed=5), np.random.default_rng(0)
    fours, fives = ({many.draw_digit(d, rng).tobytes() for _ in range(40)} for d in (4, 5))
    assert len(fours) == len(fives) == 3 and not fours & fives
    assert many.draw_digit(4, rng).shape == (28, 28)
