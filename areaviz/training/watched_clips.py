"""Clips with sentences to learn from: drawn digits that move, or people who are filmed.

To add one: a class like these, and a line in `CLIPS`.
Shapes: N clips, F frames, S side in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from areaviz.data import grounding, jhmdb
from areaviz.data import moving_digits as digits
from areaviz.data.clips import as_watched
from areaviz.models.watcher import WatcherConfig

Pixels = npt.NDArray[np.uint8]
EACH, EACH_HELD_OUT = 400, 100
"""Drawn digits of every kind in training, and of validation and test."""
TRAIN_SEED, VALID_SEED = 11, 12
VALIDATED = 512
"""Drawn clips of a validation, always the same."""
SHIFT, BRIGHTNESS = 4, 0.25
"""By how many pixels, and by what share, a film is moved and made lighter or darker in training."""


class Watchable(Protocol):
    """A clip as a network watches it, and its sentence."""

    @property
    def frames(self) -> Pixels:
        """Grey [F, S, S], or in colour [F, S, S, 3]."""

    @property
    def text(self) -> str:
        """What happens."""


@dataclass(frozen=True, slots=True)
class About:
    """What a card says of the clips."""

    title: str
    data: Mapping[str, Any]
    limits: str
    licence: str


class Clips(Protocol):
    """Where a task has its clips from."""

    @property
    def about(self) -> About:
        """What a card says of them."""

    @property
    def function_words(self) -> Collection[str]:
        """Words that no frame tells, which validation does not count."""

    @property
    def chosen_by(self) -> str:
        """What chooses the checkpoint on validation, "loss" or "words".

        Where clips are few a network grows too sure long before it tells fewer words.
        """

    @property
    def valid(self) -> Sequence[Watchable]:
        """Those of validation, always the same."""

    def sentences(self) -> Iterator[str]:
        """What the vocabulary is learned from."""

    def drawn(self, rng: np.random.Generator, count: int) -> Sequence[Watchable]:
        """So many clips to learn from; which, and how they are changed, is drawn by chance."""


class MovingDigits:
    """A digit that does two things, one after the other; drawn anew for every batch."""

    about = About(
        "Clips",
        {
            "name": "Clips of a digit that does two things, one after the other; generated",
            "train": f"clips of {EACH * len(digits.DIGITS):,} drawn digits, drawn anew for every"
            " batch",
            "valid": f"{VALIDATED} clips of {EACH_HELD_OUT * len(digits.DIGITS):,} other digits,"
            " used to choose the checkpoint",
            "test": "1,000 clips of further digits",
            "licence": "drawn by this repository's own code, free of rights",
        },
        "Knows drawn digits that move, turn, grow or shrink, and nothing else: of any other clip it"
        " says the same kind of sentence.",
        "Apache-2.0",
    )
    function_words = digits.FUNCTION_WORDS
    chosen_by = "loss"

    def __init__(self, data: Path, options: Mapping[str, Any]) -> None:
        held_out = digits.DigitBank(EACH_HELD_OUT, VALID_SEED)
        rng = np.random.default_rng(VALID_SEED)
        self.valid = digits.moving_digits(held_out, rng, VALIDATED)
        self._bank = digits.DigitBank(EACH, TRAIN_SEED)

    def sentences(self) -> Iterator[str]:
        """Every sentence there is, in the order of the words."""
        for digit in digits.DIGITS:
            for first in digits.ACTIONS:
                for second in digits.ACTIONS:
                    if first != second:
                        yield f"the {digit} {first} and then {second}"

    def drawn(self, rng: np.random.Generator, count: int) -> list[digits.MovingDigit]:
        return digits.moving_digits(self._bank, rng, count)


@dataclass(frozen=True, slots=True, eq=False)
class Filmed:
    """A film as it is watched."""

    frames: Pixels
    text: str

    def changed(self, rng: np.random.Generator) -> Filmed:
        """The same mirrored or not, moved and made lighter or darker, all frames alike."""
        frames = self.frames
        # Mirrored, the left one would be the right one.
        if rng.random() < 0.5 and not {"left", "right"} & set(self.text.split()):
            frames = frames[:, :, ::-1]
        down, across = rng.integers(-SHIFT, SHIFT + 1, 2)
        moved = np.roll(frames, (down, across), (1, 2)).astype(np.float32)
        light = rng.uniform(1 - BRIGHTNESS, 1 + BRIGHTNESS)
        return Filmed(np.clip(moved * light, 0, 255).astype(np.uint8), self.text)


class Films:
    """People who are filmed, each doing one of 21 things (J-HMDB)."""

    about = About(
        "Films of people",
        {
            "name": "J-HMDB (Jhuang et al. 2013) with the sentences of Gavrilyuk et al. (2018), 12"
            " frames of each clip, split so that no film is in two parts",
            "train": "612 clips with a sentence each, mirrored, moved and made lighter or darker"
            " by chance",
            "valid": "110 clips, used to choose the checkpoint",
            "test": "206 clips, read once",
            "licence": "research and education only; the corpus is not part of this repository",
        },
        "Trained on 612 clips of a second each: it knows 21 things that people do, and names one"
        " of them for any clip, more often the wrong one.",
        "Apache-2.0 for the weights file; trained on J-HMDB, which is for research and education"
        " only",
    )
    function_words = grounding.FUNCTION_WORDS
    chosen_by = "words"

    def __init__(self, data: Path, options: Mapping[str, Any]) -> None:
        config = WatcherConfig(0, **options)
        self._train = watched_films(data, "train", config)
        self.valid = watched_films(data, "val", config)

    def sentences(self) -> Iterator[str]:
        """Those of training."""
        for film in self._train:
            yield film.text

    def drawn(self, rng: np.random.Generator, count: int) -> list[Filmed]:
        chosen = rng.integers(len(self._train), size=count).tolist()
        return [self._train[index].changed(rng) for index in chosen]


def watched_films(data: Path, split: str, config: WatcherConfig) -> list[Filmed]:
    """The films of a split as a network watches them; raises as `read_frames`."""
    films, found = jhmdb.read_films(data, split), []
    for film, pixels in zip(films, jhmdb.read_frames(data, films), strict=True):
        frames = as_watched(pixels, config.frames, config.side, config.colour)
        found.append(Filmed(frames, film.text))
    return found


CLIPS: Mapping[str, Callable[[Path, Mapping[str, Any]], Clips]] = {
    "digits": MovingDigits,
    "people": Films,
}
"""Every kind of clips, by its name in recipes: (data folder, the network's options)."""
