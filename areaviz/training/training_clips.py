"""Clips with sentences for the training of video captioners: moving digits, or films of people.

To add a kind of clips, write a class with the methods of `Clips` and add one line to `CLIPS`.
Shapes: N clips, F frames, S side in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from areaviz.data import jhmdb
from areaviz.media.clips import prepare_frames
from areaviz.models.clips import WatcherConfig
from areaviz.samples import dataset, digits
from areaviz.training.about import TrainingTexts, read_training_texts

Pixels = npt.NDArray[np.uint8]
TRAINING_DRAWINGS, HELD_OUT_DRAWINGS = 400, 100
"""Number of drawings of every digit for training, and for validation and test."""
TRAIN_SEED, VALID_SEED = 11, 12
VALIDATION_CLIPS = 512
"""Number of drawn clips in a validation. Every validation uses the same clips."""
MAX_SHIFT_PX, BRIGHTNESS = 4, 0.25
"""Maximum shift of a training film in pixels, and maximum relative change of its brightness."""


class TrainingClip(Protocol):
    """A clip as a network sees it, with its sentence."""

    @property
    def frames(self) -> Pixels:
        """Frames in grey [F, S, S] or in colour [F, S, S, 3]."""

    @property
    def text(self) -> str:
        """The sentence that describes the clip."""


class Clips(Protocol):
    """The source of a task's clips."""

    @property
    def about(self) -> TrainingTexts:
        """Texts about the clips for a model card."""

    @property
    def function_words(self) -> Collection[str]:
        """The words that no frame shows. Validation does not count them."""

    @property
    def chosen_by(self) -> str:
        """The validation measure that chooses the checkpoint, "loss" or "words".

        With few clips, a network becomes overconfident long before it gets fewer words right.
        """

    @property
    def valid(self) -> Sequence[TrainingClip]:
        """The validation clips. Every validation uses the same clips."""

    def sentences(self) -> Iterator[str]:
        """Yield the sentences whose words become the vocabulary."""

    def drawn(self, rng: np.random.Generator, count: int) -> Sequence[TrainingClip]:
        """Draw `count` training clips with random changes."""


class MovingDigits:
    """Clips of a digit that does two actions in a row. Every batch draws new clips."""

    about = read_training_texts(
        "moving-digits",
        digits=TRAINING_DRAWINGS * len(digits.DIGITS),
        held_out=HELD_OUT_DRAWINGS * len(digits.DIGITS),
        validated=VALIDATION_CLIPS,
    )
    function_words = digits.CLIP_FUNCTION_WORDS
    chosen_by = "loss"

    def __init__(self, data: Path, options: Mapping[str, Any]) -> None:
        held_out = digits.DigitBank(HELD_OUT_DRAWINGS, VALID_SEED)
        rng = np.random.default_rng(VALID_SEED)
        self.valid = digits.make_moving_digits(held_out, rng, VALIDATION_CLIPS)
        self._bank = digits.DigitBank(TRAINING_DRAWINGS, TRAIN_SEED)

    def sentences(self) -> Iterator[str]:
        """Yield every possible sentence in the order of the words."""
        for digit in digits.DIGITS:
            for first in digits.ACTIONS:
                for second in digits.ACTIONS:
                    if first != second:
                        yield f"the {digit} {first} and then {second}"

    def drawn(self, rng: np.random.Generator, count: int) -> list[digits.MovingDigit]:
        """Draw `count` clips of training digits."""
        return digits.make_moving_digits(self._bank, rng, count)


@dataclass(frozen=True, slots=True, eq=False)
class FilmedClip:
    """A film as the network sees it."""

    frames: Pixels
    text: str

    def changed(self, rng: np.random.Generator) -> FilmedClip:
        """Return the film, randomly mirrored, shifted and made lighter or darker.

        All frames are changed alike.
        """
        frames = self.frames
        # Mirroring swaps left and right, so a sentence with these words would become wrong.
        if rng.random() < 0.5 and not {"left", "right"} & set(self.text.split()):
            frames = frames[:, :, ::-1]
        down, across = rng.integers(-MAX_SHIFT_PX, MAX_SHIFT_PX + 1, 2)
        moved = np.roll(frames, (down, across), (1, 2)).astype(np.float32)
        light = rng.uniform(1 - BRIGHTNESS, 1 + BRIGHTNESS)
        return FilmedClip(np.clip(moved * light, 0, 255).astype(np.uint8), self.text)


class Films:
    """Films of people. Each film shows one of 21 actions (J-HMDB)."""

    about = read_training_texts("films")
    function_words = dataset.FUNCTION_WORDS
    chosen_by = "words"

    def __init__(self, data: Path, options: Mapping[str, Any]) -> None:
        config = WatcherConfig(0, **options)
        self._train = prepare_films(data, "train", config)
        self.valid = prepare_films(data, "val", config)

    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the training films."""
        for film in self._train:
            yield film.text

    def drawn(self, rng: np.random.Generator, count: int) -> list[FilmedClip]:
        """Draw `count` training films and change them randomly."""
        chosen = rng.integers(len(self._train), size=count).tolist()
        return [self._train[index].changed(rng) for index in chosen]


def prepare_films(data: Path, split: str, config: WatcherConfig) -> list[FilmedClip]:
    """Return the films of a split as a network sees them.

    Raises:
        FileNotFoundError: See `read_frames`.
    """
    films, found = jhmdb.read_films(data, split), []
    for film, pixels in zip(films, jhmdb.read_frames(data, films), strict=True):
        frames = prepare_frames(pixels, config.frames, config.side, config.colour)
        found.append(FilmedClip(frames, film.text))
    return found


CLIPS: Mapping[str, Callable[[Path, Mapping[str, Any]], Clips]] = {
    "digits": MovingDigits,
    "people": Films,
}
"""Every kind of clips by its name in recipes.

Its arguments are the folder of the corpora and the options of the network.
"""
