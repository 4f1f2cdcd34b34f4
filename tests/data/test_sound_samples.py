"""The app's own recordings exist, and their digits are spoken at the stated times."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.samples.own_media import SOUND_SAMPLES, get_sound_sample
from areaviz.trace.errors import InputError
from areaviz.trace.request import RATE


@pytest.mark.parametrize("name", SOUND_SAMPLES)
def test_digits_are_audible_only_between_their_bounds(name: str) -> None:
    sample, sound = SOUND_SAMPLES[name], get_sound_sample(name)
    sound.check()
    assert sound.name == name and len(sample.starts) == len(sample.ends) == len(sample.text)
    assert len(sample.spoken.split()) == 2 * len(sample.text)
    loud = np.abs(sound.samples.astype(int))
    inside = np.zeros(len(loud), bool)
    for start, end in zip(sample.starts, sample.ends, strict=True):
        assert 0 < start < end < sound.seconds
        inside[int((start - 0.01) * RATE) : int((end + 0.01) * RATE)] = True
    assert loud[inside].mean() > 1000 and loud[~inside].max() == 0


def test_unknown_recording_gives_one_sentence() -> None:
    with pytest.raises(InputError, match="Choose one of: digits-plain"):
        get_sound_sample("nothing")
