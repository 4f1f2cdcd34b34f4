"""The alignment with the sound: what is drawn, and its values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.trace.request import Focus
from areaviz.views.sound.sound import GOLD_TIMES, find_alignment, find_spoken_intervals
from areaviz.views.views import VIEWS
from tests import fakes

FOCUS, VIEW = Focus("encoder-decoder"), VIEWS["listening"]


def test_listening_fits_only_sounds_and_opens_first() -> None:
    trace = fakes.sound_trace()
    fitting = [name for name, view in VIEWS.items() if view.fits(trace, FOCUS)]
    assert fitting[0] == "listening"
    for other in (fakes.trace(), fakes.caption_trace()):
        assert not VIEW.fits(other, FOCUS)


def test_row_is_an_item_over_time() -> None:
    trace = fakes.sound_trace("31")
    drawn = find_alignment(trace, replace(FOCUS, items=(1,)))
    assert np.array_equal(drawn.weights, trace.maps["encoder-decoder"].weights[0, 0])
    assert drawn.labels == ("3", "1", "⟨end⟩") and drawn.marked == (1,)
    assert drawn.edges[0] == 0.0 and drawn.edges[1] == pytest.approx(0.04)
    assert len(drawn.edges) == drawn.weights.shape[1] + 1 and drawn.seconds == 1.0
    # High frequencies are at the top, and dark means loud.
    time = np.arange(8000) / 8000
    high = (9000 * np.sin(2 * np.pi * 3300 * time)).astype(np.int16)
    request = replace(trace.request, sound=fakes.Sound.of("high", high))
    shade = find_alignment(replace(trace, request=request), FOCUS).loud
    assert shade.shape[0] == 40 and shade[:8].mean() < shade[-20:].mean()


def test_table_has_heaviest_moment_and_known_bounds() -> None:
    trace = fakes.sound_trace("31")
    table = VIEW.table(trace, FOCUS)
    assert "said from, s" not in table.columns
    weights_TM = trace.maps["encoder-decoder"].weights[0, 0]
    for row, weights_M in zip(table.rows, weights_TM, strict=True):
        assert row[3] == pytest.approx(0.04 * weights_M.argmax())
        assert row[5] == pytest.approx(weights_M.max())
    known = replace(trace, details={GOLD_TIMES: "0.1 0.4 0.5 0.9"})
    assert VIEW.table(known, FOCUS).rows[1][6:] == (0.5, 0.9)
    assert find_spoken_intervals(replace(trace, details={GOLD_TIMES: "<b>"})) == ()


def test_bounds_are_lines_on_screen_and_on_paper() -> None:
    trace = fakes.sound_trace("31")
    known = replace(trace, details={GOLD_TIMES: "0.1 0.4 0.4 0.9"})
    plain, marked = (len(VIEW.figure(one, FOCUS).layout.shapes) for one in (trace, known))
    assert marked == plain + 3
    axes = [len(VIEW.print(one, FOCUS).axes[0].lines) for one in (trace, known)]
    assert axes[1] == axes[0] + 3
