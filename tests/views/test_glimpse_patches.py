"""The first glimpse with and without the coarse patches, from a made-up trace with both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.view import EXPORT_FORMATS, encode_figure
from areaviz.trace.document import validate
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus
from areaviz.views.looks.glimpses import arrange_context
from areaviz.views.views import VIEWS
from tests import fakes

VIEW = VIEWS["context"]
FOCUS = Focus("glimpses")


@pytest.fixture(scope="module")
def trace() -> Trace:
    made = fakes.gaze_trace(steps=3, scales=2)
    seeing = made.gazes["glimpses"]
    blind = replace(seeing, site="without context", corners=seeing.corners + np.float32(6))
    whole = np.array([[0, 0], [60, 0], [60, 60], [0, 60]], np.float32)
    coarse = np.random.default_rng(0).integers(0, 256, (1, 1, 25, 25)).astype(np.uint8).repeat(3, 0)
    coarse_look = Gaze(
        "context", "target", "picture", np.broadcast_to(whole, (3, 1, 4, 2)).copy(), coarse
    )
    result = replace(
        made, gazes={"glimpses": seeing, "context": coarse_look, "without context": blind}
    )
    validate(result)
    return result


def test_retina_is_offered_only_with_coarse_look(trace: Trace) -> None:
    assert all(VIEW.fits(trace, Focus(site)) for site in trace.gazes)
    assert not VIEW.fits(fakes.gaze_trace(), FOCUS)
    assert not VIEW.fits(fakes.caption_trace(), Focus("encoder-decoder"))
    for name in ("glimpses", "retina", "labels"):
        assert not VIEWS[name].fits(trace, Focus("without context")), (
            "its labels are of the other glimpses"
        )


def test_coarse_look_and_both_first_glimpses_are_shown(trace: Trace) -> None:
    coarse, seeing, blind = arrange_context(trace, FOCUS).tiles
    assert coarse.pixels.shape[0] == coarse.pixels.shape[1] and "25×25" in coarse.texts[1]
    assert seeing.pixels.shape == blind.pixels.shape and (seeing.pixels != blind.pixels).any()
    x, y = trace.gazes["glimpses"].corners[0, 0].mean(0)
    assert f"{x:.0f}, {y:.0f}" in seeing.texts[1]


def test_table_has_the_distance_of_every_glimpse(trace: Trace) -> None:
    rows = VIEW.table(trace, FOCUS).rows
    assert [row[0] for row in rows] == [1, 2, 3]
    assert [row[5] for row in rows] == pytest.approx([6 * 2**0.5] * 3, rel=1e-4)


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_retina_can_be_printed(trace: Trace, kind: str) -> None:
    assert len(encode_figure(VIEW.print(trace, FOCUS), kind)) > 1000
    assert VIEW.figure(trace, FOCUS).layout.meta["caption"]
