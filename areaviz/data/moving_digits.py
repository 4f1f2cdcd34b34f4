"""Short clips of a digit that does two things, one after the other, each with its sentence.

All of it is drawn by this code, free of rights. "the three moves left and then grows": the digit
stands still, acts, stands still again, acts again; the frames of both actions are known.
Shapes: B clips, T frames, S side in pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FRAMES, SIDE = 16, 48
"""Of every clip: frames, and the side of its pictures in pixels."""
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FUNCTION_WORDS = frozenset({"the", "and", "then"})
"""Words of a sentence that no frame tells."""


@dataclass(frozen=True, slots=True)
class Action:
    """What a digit does: how far each part of its pose goes."""

    # Across and down, in shares of the side.
    across: float = 0.0
    down: float = 0.0
    # In turns, clockwise.
    turn: float = 0.0
    # By which its size is multiplied.
    size: float = 1.0


ACTIONS: Mapping[str, Action] = {
    "moves left": Action(across=-0.28),
    "moves right": Action(across=0.28),
    "moves up": Action(down=-0.28),
    "moves down": Action(down=0.28),
    "turns left": Action(turn=-0.2),
    "turns right": Action(turn=0.2),
    "grows": Action(size=1.6),
    "shrinks": Action(size=1 / 1.6),
}
"""Every action, by its words."""
_LASTS, _PAUSE = (3, 5), 1
"""Fewest and most frames of an action, and the fewest of the pause between both."""
_SMALLEST, _LARGEST = 0.46, 0.76
"""Of a digit's square, as shares of the side."""
_ROOM = 0.24
"""How far the middle of a digit may be from the middle of the picture, as a share of the side."""
_NOISE = 0.06

Window = tuple[int, int]
"""The first frame of an action, and the one behind its last."""
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class MovingDigit:
    """One clip."""

    # uint8 [T, S, S], 0 is ground.
    frames: npt.NDArray[np.uint8]
    digit: int
    # Words of `ACTIONS`.
    actions: tuple[str, str]
    windows: tuple[Window, Window]

    @property
    def text(self) -> str:
        """What happens."""
        first, second = self.actions
        return f"the {DIGITS[self.digit]} {first} and then {second}"

    def gold(self) -> list[Window | None]:
        """For every word of the text the frames that tell it; None where all or none do."""
        first, second = (len(action.split()) for action in self.actions)
        return [None, None, *[self.windows[0]] * first, None, None, *[self.windows[1]] * second]


class DigitBank:
    """Drawn digits to choose from, the same for the same seed.

    Args:
        each: how many of every digit.
        seed: of the drawing; another one for held-out digits.
    """

    def __init__(self, each: int, seed: int) -> None:
        # Drawing needs Pillow, which where networks are trained may be missing.
        from areaviz.data.strokes import draw_digit

        rng = np.random.default_rng(seed)
        drawn = [[draw_digit(digit, rng) for _ in range(each)] for digit in range(len(DIGITS))]
        self._images = np.array(drawn)

    def one_of(self, digit: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
        """A picture of a digit: uint8 [28, 28]."""
        picture: npt.NDArray[np.uint8] = self._images[digit, rng.integers(self._images.shape[1])]
        return picture


def moving_digits(bank: DigitBank, rng: np.random.Generator, count: int) -> list[MovingDigit]:
    """So many clips, drawn by chance."""
    plans = []
    for _ in range(count):
        digit = int(rng.integers(len(DIGITS)))
        first, second = rng.choice(len(ACTIONS), 2, replace=False).tolist()
        names = tuple(ACTIONS)
        plans.append((digit, (names[first], names[second]), _windows(rng)))
    return acted(bank, rng, plans)


def acted(
    bank: DigitBank,
    rng: np.random.Generator,
    plans: Sequence[tuple[int, tuple[str, str], tuple[Window, Window]]],
) -> list[MovingDigit]:
    """Clips of digits that do given things in given frames; places and hands are drawn."""
    poses_BT4 = np.stack([_poses(rng, actions, windows) for _, actions, windows in plans])
    digits = np.stack([bank.one_of(digit, rng) for digit, _, _ in plans])
    pictures_BTSS = _rendered(digits, poses_BT4)
    noisy_BTSS = pictures_BTSS + rng.normal(0, _NOISE, pictures_BTSS.shape)
    frames_BTSS = (np.clip(noisy_BTSS, 0, 1) * 255).astype(np.uint8)
    found = []
    for frames_TSS, (digit, actions, windows) in zip(frames_BTSS, plans, strict=True):
        found.append(MovingDigit(frames_TSS, digit, actions, windows))
    return found


def _windows(rng: np.random.Generator) -> tuple[Window, Window]:
    """When both actions happen.

    What is left of the frames is shared out anyhow before, between and behind them, so that where
    an action is usually tells little of where it is.
    """
    first, second = rng.integers(_LASTS[0], _LASTS[1] + 1, 2).tolist()
    left = FRAMES - _PAUSE - first - second
    start, again = sorted(rng.integers(0, left + 1, 2).tolist())
    begins = again + first + _PAUSE
    return (start, start + first), (begins, begins + second)


def _poses(
    rng: np.random.Generator, actions: tuple[str, str], windows: tuple[Window, Window]
) -> FloatArray:
    """Where the digit is in every frame: across, down, turn and size, float32 [T, 4].

    Its first place and size are drawn so that it never leaves the picture or becomes too large.
    """
    changes_T4 = np.zeros((FRAMES, 4))
    for name, (start, end) in zip(actions, windows, strict=True):
        action = ACTIONS[name]
        # In the first frame of its window the digit has moved already.
        share_T = np.clip((np.arange(FRAMES) - start + 1) / (end - start), 0, 1)
        whole_4 = (action.across, action.down, action.turn, np.log(action.size))
        changes_T4 += share_T[:, None] * np.array(whole_4)
    first_4 = np.zeros(4)
    limits = ((-_ROOM, _ROOM), (-_ROOM, _ROOM), None, (np.log(_SMALLEST), np.log(_LARGEST)))
    for part, limit in enumerate(limits):
        if limit is not None:
            lowest = limit[0] - changes_T4[:, part].min()
            highest = limit[1] - changes_T4[:, part].max()
            first_4[part] = rng.uniform(min(lowest, highest), highest)
    poses_T4 = changes_T4 + first_4
    poses_T4[:, 3] = np.exp(poses_T4[:, 3])
    return poses_T4.astype(np.float32)


def _rendered(digits_BNN: npt.NDArray[np.uint8], poses_BT4: FloatArray) -> FloatArray:
    """The digits in their poses on an empty ground: float32 [B, T, S, S], 0..1."""
    # Here, so that clips are listed without torch.
    import torch
    from torch.nn import functional as F

    across, down, turn, size = torch.from_numpy(poses_BT4).flatten(0, 1).unbind(1)
    angle = 2 * np.pi * turn
    # From a place in the picture back to a place in the digit's square, as `affine_grid` has it.
    cosine, sine = torch.cos(angle) / size, torch.sin(angle) / size
    back_N23 = torch.stack(
        [
            torch.stack([cosine, sine, -2 * (cosine * across + sine * down)], 1),
            torch.stack([-sine, cosine, -2 * (-sine * across + cosine * down)], 1),
        ],
        1,
    )
    pictures = torch.from_numpy(digits_BNN.astype(np.float32) / 255)
    pictures_N1 = pictures.repeat_interleave(FRAMES, 0)[:, None]
    grid = F.affine_grid(back_N23, [len(back_N23), 1, SIDE, SIDE], align_corners=False)
    drawn = F.grid_sample(pictures_N1, grid, align_corners=False)
    rendered: FloatArray = drawn.view(len(digits_BNN), FRAMES, SIDE, SIDE).numpy()
    return rendered
