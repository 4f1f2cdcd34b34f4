"""Recordings in any form as one sequence of samples: files, arrays, and rows of datasets.

Shapes: N samples, C channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areaviz.media.sounds import read_recording, resample
from areaviz.trace.errors import InputError, check_range
from areaviz.trace.record import find_file
from areaviz.trace.request import RATE, Sound

MOST_SECONDS = 600
MAX_CHANNELS = 8
RATES = (1_000, 384_000)
"""Minimum and maximum samples per second of an array."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """One channel of a recording."""

    # float32 [N], from -1 to 1.
    values_N: npt.NDArray[np.float32]
    # Samples per second.
    rate: int
    # Details for users on how the recording was read.
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The length of the recording in seconds."""
        return len(self.values_N) / self.rate


def read_samples(given: object, rate: int) -> Samples:
    """Return a recording as one channel of samples at a rate.

    Args:
        given: A path, an array or a list of samples at this rate (several channels become their
            mean), a mapping with "array" and "sampling_rate", or a `Sound`.
        rate: Samples per second.

    Raises:
        InputError: It is none of these, or the file cannot be read.
    """
    if isinstance(given, str | Path):
        return _read_file(find_file(given), rate)
    own_rate = rate
    if isinstance(given, Sound):
        given, own_rate = given.samples, RATE
    elif isinstance(given, Mapping):
        stated = given.get("sampling_rate", rate)
        check_range("sampling_rate", stated, RATES)
        own_rate = int(stated)
        given = given["array"]
    try:
        values = np.asarray(given)
        numbers = values.astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            "The input must be a recording, as a file, samples or a spectrum. Give one of these."
        ) from error
    if values.dtype.kind in "iu":
        # Integers are samples in the form of a file. Models expect values from -1 to 1.
        numbers /= np.float32(np.iinfo(values.dtype).max)
    mean_N, channels = _mix_channels(numbers)
    return Samples(resample(mean_N, own_rate, rate), rate, _describe_channels(channels))


def _mix_channels(values: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], int]:
    """Return the mean of the channels, which may be on either axis, and the number of channels."""
    if values.ndim == 2 and min(values.shape) <= MAX_CHANNELS < max(values.shape):
        axis = int(np.argmin(values.shape))
        return values.mean(axis), values.shape[axis]
    if values.ndim != 1 or not values.size:
        raise InputError(
            f"The recording has the shape {values.shape} but must be one row of samples, or two"
            " axes of channels and samples."
        )
    return values, 1


def _describe_channels(channels: int) -> dict[str, str]:
    return {"channels": f"the mean of {channels} channels is heard"} if channels > 1 else {}


def _read_file(path: Path, rate: int) -> Samples:
    try:
        found = read_recording(path.read_bytes(), MOST_SECONDS)
    except ImportError as error:
        raise InputError(
            "Reading a recording needs the package soundfile. Install areaviz[app], or give"
            " the samples themselves."
        ) from error
    return Samples(
        resample(found.mean_S, found.rate, rate), rate, _describe_channels(found.channels)
    )
