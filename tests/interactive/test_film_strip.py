"""The data of a film strip in the browser: frames, words and areas."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Clip, Focus
from areaviz.views.strip.strip import GOLD_FRAMES, make_strip_payload
from tests import fakes
from tests.trace.test_clip import clip_trace

FOCUS = Focus("encoder-decoder")


def trace(text: str = "31") -> Trace:
    """Return a trace whose first character attends to one frame and whose end attends to none.

    The second character attends to two frames as one area, to a third frame, and very little to
    another.
    """
    made = clip_trace(text)
    grid = AreaGrid(1, 6, 1, 3)
    weights = np.zeros((1, 1, len(text) + 1, grid.count), np.float32)
    weights[0, 0, 0, grid.index(Area(0, 4, 1, 1))] = 1.0
    weights[0, 0, 1, grid.index(Area(0, 1, 1, 2))] = 0.626
    weights[0, 0, 1, grid.index(Area(0, 5, 1, 1))] = 0.365
    weights[0, 0, 1, grid.index(Area(0, 0, 1, 1))] = 0.009
    attention = AttentionMap("encoder-decoder", "target", "clip", grid, weights)
    return replace(made, maps={attention.site: attention})


def header(made: Trace, focus: Focus = FOCUS) -> dict[str, Any]:
    """Return the plain values that the browser receives."""
    return make_strip_payload(made, focus)["header"]


def test_payload_has_the_shares_of_attention_of_every_word() -> None:
    data = header(trace())
    assert data["words"] == ["3", "1", "⟨end⟩"] and data["numbers"] == [1, 2, 3, 4, 5, 6]
    assert data["areas"] == [[[4, 1, 1000]], [[1, 2, 626], [5, 1, 365]], []]
    assert len(data["frames"]) == 6 and data["frames"][0].startswith("data:image/")
    json.dumps(data)


def test_payload_names_frames_by_their_numbers_in_the_clip() -> None:
    """Check every other frame of a clip with twice as many frames."""
    made, long = trace(), Clip.of("long", fakes.clip().pixels.repeat(2, 0), milliseconds=100)
    field = replace(made.fields["clip"], anchors=made.fields["clip"].anchors * 2)
    request = replace(made.request, clip=long)
    data = header(replace(made, request=request, fields={**made.fields, "clip": field}))
    assert data["numbers"] == [1, 3, 5, 7, 9, 11] and data["milliseconds"] == 200


@pytest.mark.parametrize(("likely", "unsure"), [(0.49, [1]), (0.5, [])])
def test_payload_marks_words_that_are_less_than_half_sure(likely: float, unsure: list[int]) -> None:
    made = trace()
    probabilities = np.array([0.9, likely, 0.9], np.float32)
    output = replace(made.output, probabilities=probabilities)
    assert header(replace(made, output=output))["unsure"] == unsure


def test_payload_has_the_known_actions() -> None:
    known = replace(trace(), details={GOLD_FRAMES: "2 3 5 6"})
    assert header(trace())["actions"] == []
    assert header(known)["actions"] == [[1, 3], [4, 6]]


def test_payload_calls_attribution_by_its_name() -> None:
    made = trace()
    site = "encoder-decoder gradient"
    maps = {site: replace(made.maps["encoder-decoder"], site=site)}
    assert header(made)["verb"] == "attends most to"
    assert header(replace(made, maps=maps), Focus(site))["verb"] == "depends most on"


def test_payload_of_another_layer_has_another_identity() -> None:
    made = trace()
    attention = made.maps["encoder-decoder"]
    weights = np.concatenate([attention.weights, np.roll(attention.weights, 1, -1)])
    two = replace(made, maps={attention.site: replace(attention, weights=weights)})
    first, second = (header(two, replace(FOCUS, layer=layer)) for layer in (0, 1))
    assert first["id"] == header(trace())["id"] != second["id"]
