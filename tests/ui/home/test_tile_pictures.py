"""The pictures of Home's tiles show the top areas of their traces."""

from __future__ import annotations

import numpy as np

from areaviz.app.home import LIT_COLOUR, draw_facts_tile
from areaviz.trace.query import top_areas
from areaviz.trace.request import Focus
from areaviz.views.message import SITE
from tests import fakes


def test_facts_tile_highlights_top_fact_of_every_hop() -> None:
    trace = fakes.trace(layers=3)
    attention = trace.maps[SITE]
    tops = [top_areas(attention, hop, None, 1, 1)[0].area.left for hop in range(3)]
    drawn = draw_facts_tile(trace, Focus(SITE, items=(1,)))
    bars = [line for line in drawn.split("<") if line.startswith("rect")]
    lit = [place for place, bar in enumerate(bars) if LIT_COLOUR in bar]
    assert len(bars) == len(trace.fields[attention.memory])
    assert lit == sorted(set(tops))
    assert drawn.count("<circle") == 3, "one point of the path per hop"


def test_facts_tile_moves_with_the_weights() -> None:
    trace = fakes.trace(layers=1)
    weights = trace.maps[SITE].weights
    weights[:] = 0
    weights[..., 2] = 1
    first = draw_facts_tile(trace, Focus(SITE, items=(0,)))
    weights[..., [2, 3]] = weights[..., [3, 2]]
    second = draw_facts_tile(trace, Focus(SITE, items=(0,)))
    assert first != second and np.all(weights.sum(-1) == 1)
