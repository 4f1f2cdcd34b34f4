"""The app's own clips: drawn digits that do two things, made when they are asked for.

Training draws none of these digits: they are of a seed of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from areaviz.data.moving_digits import DIGITS, DigitBank, MovingDigit, Window, acted
from areaviz.trace.clip import Clip
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

SEED = 77
ENLARGED = 2
"""How many times as large as it is watched a clip is shown."""


@dataclass(frozen=True, slots=True)
class ClipSample:
    """One clip.

    Args:
        digit: which digit acts.
        actions: what it does, in turn; words of `ACTIONS`.
        windows: when.
    """

    digit: int
    actions: tuple[str, str]
    windows: tuple[Window, Window]

    @property
    def text(self) -> str:
        """What happens."""
        return f"the {DIGITS[self.digit]} {self.actions[0]} and then {self.actions[1]}"

    @property
    def title(self) -> str:
        """What happens, as a title."""
        return self.text[:1].upper() + self.text[1:]

    @property
    def acts(self) -> str:
        """First and last frame of each action, from 1, as a trace's details have them."""
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
    """A clip by its name; InputError where there is none of this name."""
    if name not in SAMPLES:
        raise InputError(f'There is no clip "{shown(name)}"; choose one of: {", ".join(SAMPLES)}.')
    sample = SAMPLES[name]
    rng = np.random.default_rng([SEED, list(SAMPLES).index(name)])
    plan = (sample.digit, sample.actions, sample.windows)
    return clip_of(name, acted(DigitBank(1, SEED), rng, [plan])[0])


def clip_of(name: str, moving: MovingDigit) -> Clip:
    """A drawn clip as a request has it."""
    larger_FSS = moving.frames.repeat(ENLARGED, 1).repeat(ENLARGED, 2)
    return Clip.of(name, np.stack([larger_FSS] * 3, axis=3))
