"""Measures of one example: what they are when the answer is known, and when they have nothing to
say.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.analysis.measures import MEASURES, measure
from areaviz.data.examples import Example
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import Trace
from tests import fakes

WHOLE, LEFT, RIGHT = (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 1.0), (0.5, 0.0, 1.0, 1.0)


def looking(site: str, *cells: int, grid: int = 4) -> Trace:
    """A caption, a word a cell, the last for the end; each word looks at its cell alone, in the
    last layer.
    """
    made = (
        fakes.caption_trace("red star", grid)
        if site == "encoder-decoder"
        else fakes.doubly_trace("a", "roter Stern")
    )
    attention = made.maps[site]
    weights = np.zeros_like(attention.weights[..., : grid * grid])
    weights[0, :, :, 0] = 1
    weights[1, :, range(len(cells)), cells] = 1
    single = replace(attention, grid=AreaGrid(grid, grid, 1, 1), weights=weights)
    return replace(made, maps={**made.maps, site: single})


@pytest.mark.parametrize(
    ("site", "words"),
    [("encoder-decoder", ("red", "star")), ("encoder-decoder picture", ("roter", "stern"))],
)
def test_words_point_right_where_their_boxes_are(site: str, words: tuple[str, str]) -> None:
    trace, (colour, noun) = looking(site, 0, 3, 0), words
    for box_of_colour, box_of_noun, right in (
        (LEFT, RIGHT, 1),
        (LEFT, LEFT, 0.5),
        (RIGHT, LEFT, 0),
        (WHOLE, LEFT, 0.5),
    ):
        example = Example(
            "1", "", boxes=((colour, box_of_colour), (noun, box_of_noun), ("circle", WHOLE))
        )
        assert measure(trace, example)["pointing"] == right
    several = Example("1", "", boxes=((noun, LEFT), (noun, RIGHT)))
    assert measure(trace, several)["pointing"] == 1, "any of its boxes will do"


def test_without_boxes_for_its_words_or_without_a_picture_there_is_no_pointing() -> None:
    boxes = (("circle", WHOLE),)
    assert "pointing" not in measure(
        looking("encoder-decoder", 0, 0, 0), Example("1", "", boxes=boxes)
    )
    assert "pointing" not in measure(looking("encoder-decoder", 0, 0, 0), Example("1", ""))
    assert "pointing" not in measure(fakes.trace(), Example("1", "", boxes=(("ein", WHOLE),)))


def test_every_measure_says_what_it_is_in_a_sentence() -> None:
    for one in MEASURES.values():
        assert one.title and one.about.endswith(".") and one.better in ("high", "low", "")


def test_a_head_that_looks_at_one_place_depends_on_nothing() -> None:
    """One layer of `looking` always looks at the first cell, the other at a cell a word."""
    found = measure(looking("encoder-decoder", 0, 1, 3), Example("1", ""))
    assert found["dependence"] == pytest.approx(np.log2(3) / 2)
    assert found["dependence_share"] == pytest.approx(1 / 2)
    still = measure(looking("encoder-decoder", 2, 2, 2), Example("1", ""))
    assert still["dependence"] == still["dependence_share"] == 0
