"""The data of a sound in the browser: what is played, and what was listened to."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np

from areaviz.media.sounds import decode_sound
from areaviz.trace.request import Focus
from areaviz.views.sound.sound import make_hearing_payload
from tests import fakes

FOCUS = Focus("encoder-decoder")


def test_browser_gets_sound_and_weights_in_thousandths() -> None:
    trace = fakes.sound_trace("31")
    data = make_hearing_payload(trace, FOCUS)["header"]
    content = base64.b64decode(data["audio"].partition(",")[2])
    assert trace.request.sound is not None
    assert decode_sound(content).sound.pcm == trace.request.sound.pcm
    for row in data["weights"]:
        assert abs(sum(row) - 1000) <= len(row) / 2
    assert len(data["edges"]) == len(data["weights"][0]) + 1
    assert data["rows"] == ["3", "1", "⟨end⟩"]
    most = [max(row) for row in data["weights"][:2]]
    assert data["lit"] == most.index(max(most))
    assert data["id"] != make_hearing_payload(fakes.sound_trace("3141"), FOCUS)["header"]["id"]
    assert data["sound"].startswith("data:image/") and data["spoken"] == []


def test_opening_highlights_a_letter_before_the_end() -> None:
    trace = fakes.sound_trace("31")
    one = trace.maps["encoder-decoder"]
    weights = np.zeros_like(one.weights)
    weights[..., 0, :2], weights[..., 1, :4], weights[..., 2, 0] = 0.5, 0.25, 1.0
    told = replace(trace, maps={"encoder-decoder": replace(one, weights=weights)})
    assert make_hearing_payload(told, FOCUS)["header"]["lit"] == 0
