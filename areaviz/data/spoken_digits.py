"""Spoken digits (Free Spoken Digit Dataset): recordings of single digits, joined to strings.

The joints are known, so it is known where each digit is said, and what attention should look at.
The corpus is CC BY-SA 4.0; it is read from the reader's folder and never part of this repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areaviz.data.sounds import NOISE, levelled
from areaviz.trace.sound import RATE

FloatArray = npt.NDArray[np.float32]

TEST_TAKES, VALID_TAKES = range(5), range(5, 10)
"""Takes 0 to 4 are the corpus's own test set; the next five choose checkpoints."""
LONGEST_SAMPLES = int(1.3 * RATE)
"""Of a single digit; two recordings with long silences are longer and are cut there."""
PAUSE_SECONDS = (0.0, 0.15)
"""Silence between two digits, drawn evenly."""


@dataclass(frozen=True, slots=True)
class Recordings:
    """Recordings of single digits of one split.

    Args:
        samples: each in -1..1 with equal loudness.
        digits: what is said, 0..9.
        speakers: who says it.
    """

    samples: Sequence[FloatArray]
    digits: npt.NDArray[np.int64]
    speakers: npt.NDArray[np.int64]

    def and_others(self, others: Recordings) -> Recordings:
        """These and others, of other speakers."""
        return Recordings(
            [*self.samples, *others.samples],
            np.concatenate([self.digits, others.digits]),
            np.concatenate([self.speakers, others.speakers]),
        )


@dataclass(frozen=True, slots=True)
class Utterance:
    """A string of digits.

    Args:
        samples: in -1..1, at `RATE`.
        text: the digits, such as "4771".
        bounds: where each digit begins and ends, in samples.
    """

    samples: FloatArray
    text: str
    bounds: tuple[tuple[int, int], ...]


def read_recordings(folder: Path, split: str) -> Recordings:
    """The recordings of "train", "val" or "test" from `folder`/fsdd.

    Raises:
        FileNotFoundError: the corpus is not there.
    """
    path = folder / "fsdd" / "fsdd_8khz_int16.npz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing; put the spoken digits (FSDD) there, or name another folder with"
            " --data."
        )
    takes = {"test": TEST_TAKES, "val": VALID_TAKES}
    with np.load(path) as stored:
        audio, offsets, take = stored["audio"], stored["offsets"], stored["take"]
        digits, speakers = stored["digit"].astype(np.int64), stored["speaker"].astype(np.int64)
    if split == "train":
        chosen = np.flatnonzero(take >= VALID_TAKES.stop)
    else:
        chosen = np.flatnonzero(np.isin(take, list(takes[split])))
    samples = [
        levelled(audio[offsets[index] : offsets[index + 1]][:LONGEST_SAMPLES]) for index in chosen
    ]
    return Recordings(samples, digits[chosen], speakers[chosen])


def joined(
    recordings: Recordings, rng: np.random.Generator, counts: tuple[int, int], repeats: float = 0.3
) -> Utterance:
    """A string of digits said by one speaker, each digit a recording drawn at random.

    Args:
        recordings: of single digits.
        rng: decides everything.
        counts: fewest and most digits.
        repeats: how probably a digit is the one before, 0..1, besides chance: repeats are what
            attention by content alone confuses.
    """
    speaker = rng.choice(recordings.speakers)
    own = np.flatnonzero(recordings.speakers == speaker)
    digits: list[int] = []
    for _ in range(int(rng.integers(counts[0], counts[1] + 1))):
        is_repeat = bool(digits) and rng.random() < repeats
        digits.append(digits[-1] if is_repeat else int(rng.integers(10)))
    parts, bounds, place = [_pause(rng)], [], 0
    place = len(parts[0])
    for digit in digits:
        said = recordings.samples[rng.choice(own[recordings.digits[own] == digit])]
        bounds.append((place, place + len(said)))
        parts += [said, _pause(rng)]
        place += len(said) + len(parts[-1])
    samples = np.concatenate(parts)
    # A digital silence between digits would give the joints away.
    noise = rng.standard_normal(len(samples), dtype=np.float32) * NOISE
    return Utterance(samples + noise, "".join(map(str, digits)), tuple(bounds))


def _pause(rng: np.random.Generator) -> FloatArray:
    return np.zeros(int(rng.uniform(*PAUSE_SECONDS) * RATE), dtype=np.float32)
