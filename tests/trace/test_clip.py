"""The clip of a request: error messages, and how files, links and the wire carry it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areaviz.backend.backend import make_cache_key
from areaviz.backend.wire import (
    MAX_REQUEST_BYTES,
    LayerMessage,
    TraceMessage,
    layer_from_json,
    layer_to_json,
    trace_from_json,
    trace_to_json,
)
from areaviz.trace import file
from areaviz.trace import request as link
from areaviz.trace.areas import AreaGrid
from areaviz.trace.document import from_document, to_arrays, to_document, validate
from areaviz.trace.errors import InputError
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import FRAMES, MAX_CLIP_SIDE, MILLISECONDS, Clip, Request
from tests import fakes
from tests.trace.sentence import assert_one_sentence

OLD_KEY = "1968930ef360f8da42e516939d5b835c40ef2fb46724f25198865a4601184f96"
"""The key that a text request had before requests could hold clips."""


def clip_trace(text: str = "31", seen: Clip | None = None) -> Trace:
    """Return a trace of a video captioner in which each character mostly reads its own frame."""
    seen = seen or fakes.clip()
    starts_N = np.arange(seen.frames)
    labels = tuple(f"frame {number + 1}" for number in starts_N)
    field = Field("clip", "clip", "", labels, np.stack([starts_N, starts_N + 1], 1))
    target = fakes.text_field("target", text)
    weights_TN = np.full((len(target), seen.frames), 0.2 / seen.frames, np.float32)
    for row in range(len(target)):
        weights_TN[row, row % seen.frames] += 0.8
    grid = AreaGrid(1, seen.frames, 1, 1)
    attention = AttentionMap("encoder-decoder", "target", "clip", grid, weights_TN[None, None])
    shares = np.linspace(0.9, 0.5, len(target)).astype(np.float32)
    likely = tuple(((label, float(p)),) for label, p in zip(target.labels, shares, strict=True))
    request = Request("fake-watcher", "", clip=seen)
    fields = {"clip": field, "target": target}
    return Trace(request, fields, Output("target", shares, likely), {attention.site: attention})


def test_clip_keeps_its_values() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 5, 3)).astype(np.uint8)
    clip = Clip.of("clip", pixels, 40)
    assert np.array_equal(clip.pixels, pixels) and clip.pixels.dtype == np.uint8
    assert (clip.frames, clip.height, clip.width, clip.milliseconds) == (4, 3, 5, 40)
    # The pixels are equal although they are not contiguous in memory.
    mirrored = Clip.of("clip", pixels[:, :, ::-1])
    assert np.array_equal(mirrored.pixels, pixels[:, :, ::-1])
    assert not clip.pixels.flags.writeable


def test_pixels_size_and_pace_change_clip_digest() -> None:
    pixels = np.zeros((2, 4, 6, 3), np.uint8)
    changed = pixels.copy()
    changed[1, 3, 5, 2] = 1
    clips = [Clip.of("a", pixels), Clip.of("a", changed), Clip.of("a", pixels, 121)]
    clips += [Clip.of("a", pixels.reshape(shape)) for shape in ((2, 6, 4, 3), (4, 2, 6, 3))]
    digests = [clip.digest for clip in clips]
    assert len(set(digests)) == len(clips) and {len(digest) for digest in digests} == {12}
    assert Clip.of("b", pixels).digest == digests[0]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (Clip("A name", 2, 2, 2, 100, bytes(24)), "characters that a link cannot contain"),
        (Clip("one", 1, 2, 2, 100, bytes(12)), "has 1 frames, but 2 to 32 are allowed"),
        (Clip("many", 33, 2, 2, 100, bytes(396)), "has 33 frames, but 2 to 32 are allowed"),
        (Clip("wide", 2, 129, 1, 100, bytes(774)), "has 129 x 1 pixels, but each side may"),
        (Clip("high", 2, 1, 129, 100, bytes(774)), "has 1 x 129 pixels, but each side may"),
        (Clip("empty", 2, 0, 4, 100, b""), "has 0 x 4 pixels, but each side may have at most 128."),
        (Clip("fast", 2, 2, 2, 9, bytes(24)), "lasts 9 milliseconds, but 10 to 10,000"),
        (Clip("slow", 2, 2, 2, 10_001, bytes(24)), "lasts 10,001 milliseconds, but 10 to 10,000"),
        (Clip("short", 2, 2, 2, 100, bytes(23)), "pixels do not fit its size"),
        (Clip("long", 2, 2, 2, 100, bytes(25)), "pixels do not fit its size"),
    ],
    ids=lambda value: value.name if isinstance(value, Clip) else "",
)
def test_invalid_clip_is_refused_in_one_sentence(wrong: Clip, sentence: str) -> None:
    for check in (Clip.check, lambda clip: Request("watcher", "", clip=clip).checked()):
        with pytest.raises(InputError, match=sentence) as caught:
            check(wrong)
        assert_one_sentence(caught.value)


@pytest.mark.parametrize("frames", FRAMES)
@pytest.mark.parametrize("side", [1, MAX_CLIP_SIDE])
@pytest.mark.parametrize("milliseconds", MILLISECONDS)
def test_clip_at_the_limits_is_accepted(frames: int, side: int, milliseconds: int) -> None:
    Clip.of("edge", np.zeros((frames, side, side, 3), np.uint8), milliseconds).check()


def test_request_may_have_clip_instead_of_text() -> None:
    assert Request("watcher", "", clip=fakes.clip()).checked().clip == fakes.clip()
    with pytest.raises(InputError, match="Type a sentence"):
        Request("watcher", "").checked()


def test_files_and_messages_carry_the_clip(tmp_path: Path) -> None:
    trace = clip_trace(seen=replace(fakes.clip(), milliseconds=70))
    validate(trace)
    file.save(trace, tmp_path / "seen.npz")
    again = file.load(tmp_path / "seen.npz")
    assert again.request == trace.request and again.fields["clip"].kind == "clip"
    assert again.request.clip is not None and again.request.clip.milliseconds == 70
    np.testing.assert_array_equal(again.fields["clip"].anchors, trace.fields["clip"].anchors)
    message = TraceMessage(trace.request)
    assert trace_from_json(trace_to_json(message)).request == trace.request
    layer = LayerMessage(trace.request, "key", "encoder-decoder", 0)
    assert layer_from_json(layer_to_json(layer)) == layer


def test_link_carries_only_the_clip_name() -> None:
    request = clip_trace().request
    params = link.to_params(request)
    assert params == {"model": "fake-watcher", "clip": "fake"}
    assert link.from_params(params)[0] == replace(request, clip=None)


def test_largest_clip_fits_into_a_message() -> None:
    pixels = np.zeros((FRAMES[1], MAX_CLIP_SIDE, MAX_CLIP_SIDE, 3), np.uint8)
    message = TraceMessage(Request("watcher", "x" * 4096, clip=Clip.of("large", pixels)))
    assert len(trace_to_json(message)) < MAX_REQUEST_BYTES


@pytest.mark.parametrize(
    "damage",
    [
        lambda entries: entries.pop("frames"),
        lambda entries: entries.update(frames=[1, 2]),
        lambda entries: entries["frames"].pop("rgb"),
        lambda entries: entries["frames"].update(rgb="not base 64"),
        lambda entries: entries["frames"].update(rgb=entries["frames"]["rgb"][:-4]),
        lambda entries: entries["frames"].update(rgb="", frames=0),
        lambda entries: entries["frames"].update(frames=7),
        lambda entries: entries["frames"].update(frames=-1, width=-1),
        lambda entries: entries["frames"].update(height="8"),
        lambda entries: entries["frames"].update(frames=480, width=1, height=1),
        lambda entries: entries["request"].update(clip="fake"),
        lambda entries: entries["request"]["clip"].pop("milliseconds"),
        lambda entries: entries["request"]["clip"].update(milliseconds=True),
        lambda entries: entries["request"]["clip"].update(milliseconds=0),
        lambda entries: entries["request"]["clip"].update(name="<b>"),
    ],
)
def test_damaged_message_gives_one_sentence(damage: Callable[[dict[str, Any]], object]) -> None:
    entries = json.loads(trace_to_json(TraceMessage(clip_trace().request)))
    damage(entries)
    with pytest.raises(InputError) as caught:
        trace_from_json(json.dumps(entries).encode())
    assert_one_sentence(caught.value)


def test_file_with_invalid_clip_pixels_is_refused() -> None:
    trace = clip_trace()
    document = json.loads(json.dumps(to_document(trace)))
    arrays = to_arrays(trace)
    assert from_document(document, arrays).request == trace.request
    pixels = arrays["request.clip"]
    for wrong in (pixels.astype(np.float32), pixels[0], pixels[..., :2]):
        with pytest.raises(ValueError, match="the clip is not an array"):
            from_document(document, {**arrays, "request.clip": wrong})
    with pytest.raises(InputError, match="has 1 frames"):
        from_document(document, {**arrays, "request.clip": pixels[:1]})


def test_file_older_than_clips_is_read() -> None:
    trace = fakes.trace()
    document = json.loads(json.dumps(to_document(trace)))
    del document["request"]["clip"]
    assert from_document(document, to_arrays(trace)).request == trace.request


def test_different_clip_of_equal_name_changes_request_key() -> None:
    request = clip_trace().request
    keys = {make_cache_key(request, None)}
    keys.add(make_cache_key(replace(request, clip=fakes.clip(seed=1)), None))
    keys.add(make_cache_key(replace(request, clip=replace(fakes.clip(), milliseconds=50)), None))
    keys.add(make_cache_key(replace(request, clip=None), None))
    assert len(keys) == 4
    assert make_cache_key(clip_trace().request, None) in keys


def test_request_without_clip_keeps_its_old_key() -> None:
    assert make_cache_key(Request("reader", "A dog."), None) == OLD_KEY


def test_clip_pixels_count_as_memory() -> None:
    size = clip_trace().nbytes - _without_clip(clip_trace()).nbytes
    assert size == len(fakes.clip().rgb) > 0


def test_anchors_lie_within_the_clip() -> None:
    trace = clip_trace()
    field = trace.fields["clip"]
    for anchors in (field.anchors + 1, field.anchors - 1, field.anchors[:, ::-1].copy()):
        beyond = replace(field, anchors=anchors)
        with pytest.raises(ValueError, match="outside its 6 frames"):
            validate(replace(trace, fields={**trace.fields, "clip": beyond}))
    with pytest.raises(ValueError, match="the request has none"):
        validate(_without_clip(trace))


def _without_clip(trace: Trace) -> Trace:
    return replace(trace, request=replace(trace.request, clip=None))
