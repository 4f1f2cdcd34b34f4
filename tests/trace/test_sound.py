"""The sound of a request: error messages, and how files, links and the wire carry it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from areaviz.backend.backend import make_cache_key
from areaviz.backend.wire import TraceMessage, trace_from_json, trace_to_json
from areaviz.trace import file
from areaviz.trace import request as link
from areaviz.trace.document import validate
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import RATE, Request, Sound
from tests import fakes
from tests.trace.sentence import assert_one_sentence


def test_sound_keeps_its_values() -> None:
    samples = np.array([0, 1, -32768, 32767] * 400, np.int16)
    sound = Sound.of("clip", samples)
    assert np.array_equal(sound.samples, samples) and sound.seconds == 0.2
    assert sound.digest != Sound.of("clip", samples[::-1]).digest


@pytest.mark.parametrize(
    "wrong",
    [
        Sound("A name", bytes(4000)),
        Sound("odd", bytes(4001)),
        Sound("short", bytes(100)),
        Sound("long", bytes(2 * RATE * 21)),
    ],
)
def test_invalid_sound_is_refused(wrong: Sound) -> None:
    with pytest.raises(InputError) as caught:
        Request("listener", "", sound=wrong).checked()
    assert_one_sentence(caught.value)


def test_request_needs_text_picture_or_sound() -> None:
    assert Request("listener", "", sound=fakes.sound()).checked().sound == fakes.sound()
    with pytest.raises(InputError, match="Type a sentence"):
        Request("listener", "").checked()


def test_files_links_and_messages_carry_the_sound(tmp_path: Path) -> None:
    trace = fakes.sound_trace()
    validate(trace)
    file.save(trace, tmp_path / "heard.npz")
    again = file.load(tmp_path / "heard.npz")
    assert again.request == trace.request and again.fields["sound"].kind == "sound"
    assert link.to_params(trace.request)["sound"] == "fake"
    message = TraceMessage(trace.request)
    assert trace_from_json(trace_to_json(message)).request == trace.request


def test_different_sound_of_equal_name_changes_request_key() -> None:
    request = fakes.sound_trace().request
    other = replace(request, sound=fakes.sound(seed=1))
    assert make_cache_key(request, None) != make_cache_key(other, None)
    size = fakes.sound_trace().nbytes - _without_sound(fakes.sound_trace()).nbytes
    assert size == len(fakes.sound().pcm)


def test_anchors_lie_within_the_sound() -> None:
    trace = fakes.sound_trace()
    field = trace.fields["sound"]
    beyond = replace(field, anchors=field.anchors + RATE)
    with pytest.raises(ValueError, match="outside its 8,000 samples"):
        validate(replace(trace, fields={**trace.fields, "sound": beyond}))
    with pytest.raises(ValueError, match="the request has none"):
        validate(_without_sound(trace))


def _without_sound(trace: Trace) -> Trace:
    return replace(trace, request=replace(trace.request, sound=None))
