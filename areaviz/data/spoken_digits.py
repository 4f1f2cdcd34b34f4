"""Spoken digits (Free Spoken Digit Dataset): recordings of single digits, joined to strings.

The start and end of each digit are therefore known, and with them the part of the recording that
attention should find. The corpus is CC BY-SA 4.0. It is read from the user's folder and is not part
of this repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areaviz.media.sounds import NOISE, normalise_loudness
from areaviz.trace.request import RATE

FloatArray = npt.NDArray[np.float32]

TEST_TAKES, VALID_TAKES = range(5), range(5, 10)
"""Numbers of a speaker's recordings of a digit, called takes. Takes 0 to 4 are the corpus's own
test set. The next five are for choosing checkpoints."""
LONGEST_SAMPLES = int(1.3 * RATE)
"""Maximum length of a digit in samples. Two recordings with long silences are cut to it."""
PAUSE_SECONDS = (0.0, 0.15)
"""Range of the silence between two digits, which is drawn uniformly."""


@dataclass(frozen=True, slots=True)
class Recordings:
    """Recordings of single digits of one split.

    Args:
        samples: N recordings, each float32 [S] in -1..1 with equal loudness.
        digits: The spoken digit of each recording, 0..9: int64 [N].
        speakers: The number of each recording's speaker: int64 [N].
    """

    samples: Sequence[FloatArray]
    digits: npt.NDArray[np.int64]
    speakers: npt.NDArray[np.int64]

    def join_recordings(self, others: Recordings) -> Recordings:
        """Return these recordings followed by those of `others`, which have other speakers."""
        return Recordings(
            [*self.samples, *others.samples],
            np.concatenate([self.digits, others.digits]),
            np.concatenate([self.speakers, others.speakers]),
        )


@dataclass(frozen=True, slots=True)
class Utterance:
    """A spoken string of digits.

    Args:
        samples: Samples in -1..1, at `RATE`.
        text: The digits, such as "4771".
        bounds: Start and end of each digit in samples.
    """

    samples: FloatArray
    text: str
    bounds: tuple[tuple[int, int], ...]


def read_recordings(folder: Path, split: str) -> Recordings:
    """Read the recordings of "train", "val" or "test" from `folder`/fsdd.

    Raises:
        FileNotFoundError: The corpus is not there.
    """
    path = folder / "fsdd" / "fsdd_8khz_int16.npz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Put the spoken digits (FSDD) there, or name another folder"
            " with --data."
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
        normalise_loudness(audio[offsets[index] : offsets[index + 1]][:LONGEST_SAMPLES])
        for index in chosen
    ]
    return Recordings(samples, digits[chosen], speakers[chosen])


def join_recordings(
    recordings: Recordings, rng: np.random.Generator, counts: tuple[int, int], repeats: float = 0.3
) -> Utterance:
    """Return a string of digits by one speaker, each digit a randomly drawn recording.

    Args:
        recordings: Recordings of single digits.
        rng: Source of all randomness.
        counts: Minimum and maximum number of digits.
        repeats: Probability, 0..1, that a digit copies the previous one. Otherwise it is drawn from
            all ten digits. Repeats are hard for attention by content alone, because it confuses
            them.
    """
    speaker = rng.choice(recordings.speakers)
    own = np.flatnonzero(recordings.speakers == speaker)
    digits: list[int] = []
    for _ in range(int(rng.integers(counts[0], counts[1] + 1))):
        is_repeat = bool(digits) and rng.random() < repeats
        digits.append(digits[-1] if is_repeat else int(rng.integers(10)))
    parts, bounds, place = [_make_pause(rng)], [], 0
    place = len(parts[0])
    for digit in digits:
        said = recordings.samples[rng.choice(own[recordings.digits[own] == digit])]
        bounds.append((place, place + len(said)))
        parts += [said, _make_pause(rng)]
        place += len(said) + len(parts[-1])
    samples = np.concatenate(parts)
    # Without noise, the exact silence between digits would reveal where recordings were joined.
    noise = rng.standard_normal(len(samples), dtype=np.float32) * NOISE
    return Utterance(samples + noise, "".join(map(str, digits)), tuple(bounds))


def _make_pause(rng: np.random.Generator) -> FloatArray:
    return np.zeros(int(rng.uniform(*PAUSE_SECONDS) * RATE), dtype=np.float32)
