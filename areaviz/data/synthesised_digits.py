"""Spoken digits of voices that no person owns: spoken by the program espeak-ng, at training time.

The clips that the app ships are spoken so, in voices that training never hears.
"""

from __future__ import annotations

import io
import subprocess
import wave
from itertools import product

import numpy as np

from areaviz.data.sounds import FloatArray, levelled, resampled
from areaviz.data.spoken_digits import Recordings
from areaviz.trace.errors import InputError

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-gb-x-rp")
VARIANTS = ("m1", "m2", "m3", "m4", "m5", "m6", "f1", "f2", "f3", "f4")
"""Of each accent; m7 and f5 are kept for the clips that are shipped."""
SPEEDS = (130, 165)
"""In words a minute."""
FIRST_SPEAKER = 100
"""Synthesised voices are numbered from here on."""
QUIET = 0.02
"""What is quieter than this share of the loudest sample is silence at either end."""


def synthesised_recordings() -> Recordings:
    """Every digit in 40 voices, twice in each: slowly and fast.

    Raises:
        InputError: espeak-ng is not installed.
    """
    samples, digits, speakers = [], [], []
    for number, (accent, variant) in enumerate(product(ACCENTS, VARIANTS)):
        for (digit, word), speed in product(enumerate(WORDS), SPEEDS):
            samples.append(spoken(word, f"{accent}+{variant}", speed))
            digits.append(digit)
            speakers.append(FIRST_SPEAKER + number)
    return Recordings(samples, np.array(digits), np.array(speakers))


def spoken(words: str, voice: str, speed: int) -> FloatArray:
    """Words as espeak-ng says them, as loud as a recording is, without silence around.

    Raises:
        InputError: espeak-ng is not installed.
    """
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", words]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except FileNotFoundError:
        raise InputError(
            "Synthesised voices need the program espeak-ng; install it (Debian: apt-get install"
            " espeak-ng)."
        ) from None
    with wave.open(io.BytesIO(done.stdout)) as file:
        rate = file.getframerate()
        heard = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    loud = np.flatnonzero(np.abs(heard.astype(np.int32)) > QUIET * np.abs(heard).max())
    cut = resampled(heard[loud[0] : loud[-1] + 1].astype(np.float32), rate)
    return levelled(np.clip(cut, -32768, 32767).astype(np.int16))
