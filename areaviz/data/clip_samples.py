"""The app's own clips, generated on demand. In each, a drawn digit does two actions.

The drawings have their own seed, so training uses none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from areaviz.data.moving_digits import DIGITS, DigitBank, MovingDigit, Window, render_actions
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.request import Clip

SEED = 77
ENLARGED = 2
"""Factor by which the sides of a sample clip exceed those of the frames that the model reads."""


@dataclass(frozen=True, slots=True)
class ClipSample:
    """A clip of a digit with two actions.

    Args:
        digit: The digit.
        actions: The actions in order, keys of `ACTIONS`.
        windows: The frames of each action.
    """

    digit: int
    actions: tuple[str, str]
    windows: tuple[Window, Window]

    @property
    def text(self) -> str:
        """The sentence that describes the clip."""
        return f"the {DIGITS[self.digit]} {self.actions[0]} and then {self.actions[1]}"

    @property
    def title(self) -> str:
        """The sentence as a title."""
        return self.text[:1].upper() + self.text[1:]

    @property
    def acts(self) -> str:
        """First and last frame of each action, from 1, in the format of a trace's details."""
        return " ".join(f"{start + 1} {end}" for start, end in self.windows)


SAMPLES: Mapping[str, ClipSample] = {
    "three-left-grows": ClipSample(3, ("moves left", "grows"), ((1, 6), (9, 14))),
    "five-turns-down": ClipSample(5, ("turns right", "moves down"), ((2, 6), (8, 13))),
    "eight-shrinks-right": ClipSample(8, ("shrinks", "moves right"), ((0, 4), (5, 10))),
    "two-up-turns": ClipSample(2, ("moves up", "turns left"), ((2, 7), (10, 14))),
    "four-right-left": ClipSample(4, ("moves right", "moves left"), ((1, 5), (8, 12))),
}


@lru_cache(maxsize=8)
def clip_sample(name: str) -> Clip:
    """Return a clip by its name.

    Raises:
        InputError: There is no clip of this name.
    """
    if name not in SAMPLES:
        raise InputError(
            f'Clip "{shorten(name)}" does not exist. Choose one of: {", ".join(SAMPLES)}.'
        )
    sample = SAMPLES[name]
    rng = np.random.default_rng([SEED, list(SAMPLES).index(name)])
    plan = (sample.digit, sample.actions, sample.windows)
    return clip_of(name, render_actions(DigitBank(1, SEED), rng, [plan])[0])


def clip_of(name: str, moving: MovingDigit) -> Clip:
    """Convert a drawn clip to the clip of a request."""
    larger_FSS = moving.frames.repeat(ENLARGED, 1).repeat(ENLARGED, 2)
    return Clip.of(name, np.stack([larger_FSS] * 3, axis=3))
