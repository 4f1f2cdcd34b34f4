"""The attention of the shipped speech recogniser depends on the sound."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.measures.references import count_edits, find_boundary_hits
from areaviz.models.generation import GenerationModel
from areaviz.models.speech import SAMPLES_PER_ITEM
from areaviz.samples.own_media import SOUND_SAMPLES, get_sound_sample
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.areas import FloatArray
from areaviz.trace.changes import Hide, Share
from areaviz.trace.record import Trace
from areaviz.trace.request import RATE, Request, Sound

NAME, SITE = "speech-hybrid", "encoder-decoder"


@pytest.fixture(scope="module")
def listener() -> GenerationModel:
    folder = CHECKPOINTS / NAME
    return GenerationModel.load(folder, read_card(folder / "card.json"), torch.device("cpu"))


def heard(listener: GenerationModel, sound: Sound, target: str | None = None) -> Trace:
    return listener.trace([Request(NAME, "", sound=sound, target=target)])[0]


def weights(trace: Trace) -> FloatArray:
    found: FloatArray = trace.maps[SITE].weights[0, 0]
    return found


@pytest.mark.parametrize("name", [name for name in SOUND_SAMPLES if name != "digits-long"])
def test_sample_digits_are_heard_at_their_times(listener: GenerationModel, name: str) -> None:
    sample = SOUND_SAMPLES[name]
    trace = heard(listener, get_sound_sample(name))
    assert count_edits(trace.fields["target"].raw.strip(), sample.text) <= 1
    bounds = []
    for start, end in zip(sample.starts, sample.ends, strict=True):
        bounds.append((int(start * RATE), int(end * RATE)))
    given = heard(listener, get_sound_sample(name), sample.text)
    hits = find_boundary_hits(weights(given)[: len(bounds)], bounds, SAMPLES_PER_ITEM)
    assert sum(hits) >= len(hits) - 1


def test_delayed_sound_delays_the_attention(listener: GenerationModel) -> None:
    """After half a second of silence, attention to the digits moves by half a second."""
    sound = get_sound_sample("digits-fast")
    silence = np.zeros(RATE // 2, np.int16)
    later = Sound.of("later", np.concatenate([silence, sound.samples]))
    first, second = (weights(heard(listener, one, "8064")) for one in (sound, later))
    moved = second.argmax(1)[:4] - first.argmax(1)[:4]
    assert np.abs(moved - RATE // 2 / SAMPLES_PER_ITEM).max() <= 3


def test_hidden_sound_is_unread_and_switches_change_weights(
    listener: GenerationModel,
) -> None:
    request = Request(NAME, "", sound=get_sound_sample("digits-plain"), target="3141592")
    plain = weights(listener.trace([request])[0])
    hidden = tuple(range(15, 27))
    changed = Request(
        NAME, "", sound=request.sound, target="3141592", changes=(Hide("sound", hidden),)
    )
    assert weights(listener.trace([changed])[0])[:, 15:27].max() == 0.0
    sharper = Request(NAME, "", sound=request.sound, target="3141592", changes=(Share(SITE, 4.0),))
    assert weights(listener.trace([sharper])[0])[0].max() > plain[0].max()
