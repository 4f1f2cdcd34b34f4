"""Digit readers look at the same places in the page as in Python, and read the same digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.samples.own_media import get_picture_sample
from areaviz.trace.changes import Weigh
from areaviz.trace.request import Picture, Request
from tests.components.live.node import assert_equal_traces, documents
from tests.components.live.test_engine import live, traces
from tests.sampled import sampled

READERS = ("items-soft", "items-hard", "ram-centred", "ram-cluttered", "ram-pairs", "stn-cluttered")
CLOSE = 1e-6
"""Largest difference of corners, as a share of the picture's larger side."""


def pictures() -> list[Picture]:
    """Return samples, a digit on paper, noise in two shapes and a narrow picture."""
    rng = np.random.default_rng(3)
    found = [
        get_picture_sample(name)
        for name in ("digit-3", "single-4", "moved-6", "pair-41", "scene-1")
    ]
    found.append(Picture.of("paper", 230 - get_picture_sample("digit-5").pixels // 2))
    for height, width in ((87, 150), (28, 28), (200, 5)):
        found.append(Picture.of("noise", rng.integers(0, 256, (height, width, 3), np.uint8)))
    return found


@pytest.mark.parametrize("name", sampled(READERS, *list(READERS)[:1]))
def test_digit_readers_agree_with_python(name: str) -> None:
    requests = [Request(name, "", picture=one) for one in pictures()]
    for found, expected in traces(live(name), requests):
        assert_equal_traces(found, expected)
        for site, attention in expected.maps.items():
            chosen = found.maps[site].chosen
            if attention.chosen is None:
                assert chosen is None
            else:
                assert chosen is not None and np.array_equal(chosen, attention.chosen)
        assert found.gazes.keys() == expected.gazes.keys()
        for site, gaze in expected.gazes.items():
            picture = expected.request.picture
            assert picture is not None
            most = CLOSE * max(picture.width, picture.height)
            assert np.abs(found.gazes[site].corners - gaze.corners).max() <= most
            # A value halfway between two bytes may go either way.
            seen = found.gazes[site].seen.astype(int)
            assert np.abs(seen - gaze.seen).max() <= 1


def test_digit_readers_refuse_unsupported_requests() -> None:
    request = Request("ram-centred", "", picture=get_picture_sample("single-4"))
    requests = [
        replace(request, picture=None),
        replace(request, target="4"),
        replace(request, area_size=2),
        replace(request, changes=(Weigh("glimpses", (0,)),)),
    ]
    messages = [one["error"] for one in documents(live("ram-centred"), requests)]
    assert "needs a picture" in messages[0]
    assert "nor a given output" in messages[1]
    assert "not at areas" in messages[2]
    assert "supports neither changes" in messages[3]
