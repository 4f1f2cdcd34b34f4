"""Short clips of a digit that does two actions one after the other, with a sentence for each clip.

The clips are drawn by this code, and no copyright restricts their use. In "the three moves left and
then grows", the digit rests, acts, rests again and acts again. The frames of both actions are
known.

Shapes: B clips, T frames, S side in pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FRAMES, SIDE = 16, 48
"""Number of frames per clip, and the side of its frames in pixels."""
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FUNCTION_WORDS = frozenset({"the", "and", "then"})
"""Words of the sentences that no frame of a clip shows."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a digit: how it changes the digit's position, rotation and size."""

    # Shift to the right and down, in shares of the side.
    across: float = 0.0
    down: float = 0.0
    # Clockwise rotation in turns.
    turn: float = 0.0
    # Factor by which the size changes.
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
"""Minimum and maximum number of frames of an action, and minimum number of frames between two
actions.
"""
_SMALLEST, _LARGEST = 0.46, 0.76
"""Minimum and maximum size of a digit's square, as shares of the side."""
_ROOM = 0.24
"""Maximum distance of a digit's centre from the centre of the picture, as a share of the side."""
_NOISE = 0.06

Window = tuple[int, int]
"""First frame and end frame (exclusive) of an action."""
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class MovingDigit:
    """A clip of a digit with two actions."""

    # uint8 [T, S, S], 0 is background.
    frames: npt.NDArray[np.uint8]
    digit: int
    # Keys of `ACTIONS`.
    actions: tuple[str, str]
    windows: tuple[Window, Window]

    @property
    def text(self) -> str:
        """The sentence that describes the clip."""
        first, second = self.actions
        return f"the {DIGITS[self.digit]} {first} and then {second}"

    def gold(self) -> list[Window | None]:
        """Return the frames that show each word of the text.

        The list has None for a word that no particular frames show.
        """
        first, second = (len(action.split()) for action in self.actions)
        return [None, None, *[self.windows[0]] * first, None, None, *[self.windows[1]] * second]


class DigitBank:
    """Drawn digits to choose from. Equal seeds give equal digits.

    Args:
        each: Number of drawings per digit.
        seed: Seed of the drawings. Use a different seed for held-out digits.
    """

    def __init__(self, each: int, seed: int) -> None:
        # Drawing needs Pillow, which a machine for training may lack.
        from areaviz.data.strokes import draw_digit

        rng = np.random.default_rng(seed)
        drawn = [[draw_digit(digit, rng) for _ in range(each)] for digit in range(len(DIGITS))]
        self._images = np.array(drawn)

    def draw_digit(self, digit: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
        """Return a random drawing of a digit: uint8 [28, 28]."""
        picture: npt.NDArray[np.uint8] = self._images[digit, rng.integers(self._images.shape[1])]
        return picture


def make_moving_digits(bank: DigitBank, rng: np.random.Generator, count: int) -> list[MovingDigit]:
    """Return `count` random clips."""
    plans = []
    for _ in range(count):
        digit = int(rng.integers(len(DIGITS)))
        first, second = rng.choice(len(ACTIONS), 2, replace=False).tolist()
        names = tuple(ACTIONS)
        plans.append((digit, (names[first], names[second]), _draw_windows(rng)))
    return render_actions(bank, rng, plans)


def render_actions(
    bank: DigitBank,
    rng: np.random.Generator,
    plans: Sequence[tuple[int, tuple[str, str], tuple[Window, Window]]],
) -> list[MovingDigit]:
    """Return clips with random poses and drawings.

    Args:
        bank: the drawings.
        rng: the source of randomness.
        plans: for each clip, the digit, its two actions, and the first and end frame of each
            action.
    """
    poses_BT4 = np.stack([_draw_poses(rng, actions, windows) for _, actions, windows in plans])
    digits = np.stack([bank.draw_digit(digit, rng) for digit, _, _ in plans])
    pictures_BTSS = _render_poses(digits, poses_BT4)
    noisy_BTSS = pictures_BTSS + rng.normal(0, _NOISE, pictures_BTSS.shape)
    frames_BTSS = (np.clip(noisy_BTSS, 0, 1) * 255).astype(np.uint8)
    found = []
    for frames_TSS, (digit, actions, windows) in zip(frames_BTSS, plans, strict=True):
        found.append(MovingDigit(frames_TSS, digit, actions, windows))
    return found


def _draw_windows(rng: np.random.Generator) -> tuple[Window, Window]:
    """Return the first and end frame of both actions, drawn at random.

    The remaining frames are distributed at random before, between and after the actions. A model
    that knows only when actions usually happen therefore learns little about a single clip.
    """
    first, second = rng.integers(_LASTS[0], _LASTS[1] + 1, 2).tolist()
    left = FRAMES - _PAUSE - first - second
    start, again = sorted(rng.integers(0, left + 1, 2).tolist())
    begins = again + first + _PAUSE
    return (start, start + first), (begins, begins + second)


def _draw_poses(
    rng: np.random.Generator, actions: tuple[str, str], windows: tuple[Window, Window]
) -> FloatArray:
    """Return the pose in every frame: shift right, shift down, turn and size, float32 [T, 4].

    The pose in the first frame is drawn so that the digit never leaves the picture or becomes too
    large.
    """
    changes_T4 = np.zeros((FRAMES, 4))
    for name, (start, end) in zip(actions, windows, strict=True):
        action = ACTIONS[name]
        # The digit has already moved in the first frame of an action.
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


def _render_poses(digits_BNN: npt.NDArray[np.uint8], poses_BT4: FloatArray) -> FloatArray:
    """Return the digits in their poses on an empty background: float32 [B, T, S, S], 0..1."""
    # Imported here, so that clips can be listed without torch.
    import torch
    from torch.nn import functional as F

    across, down, turn, size = torch.from_numpy(poses_BT4).flatten(0, 1).unbind(1)
    angle = 2 * np.pi * turn
    # The transform from a position in the picture to a position in the digit's square, in the
    # format of `affine_grid`.
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
