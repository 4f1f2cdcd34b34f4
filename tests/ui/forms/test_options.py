"""The slider "Largest area" ends at the trained size if areas are learned.

It also explains what smaller sizes lose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.options import AS_TRAINED, describe_area_size, find_counterpart
from tests.pages import folder

EXTENT = "{size} neighbouring items"


@pytest.mark.parametrize(
    ("config", "largest"),
    [
        ({"area_size": 5}, 0),
        ({"area_size": 5, "key_mode": "max"}, 0),
        ({"area_size": 5, "key_mode": "features"}, 5),
        ({"area_size": 4, "key_mode": "boundary"}, 4),
        ({"area_size": 3, "size_bias": True}, 3),
        ({"text": {"area_size": 3, "key_mode": "boundary"}}, 3),
    ],
)
def test_card_states_the_largest_learned_area(config: Mapping[str, Any], largest: int) -> None:
    assert replace(folder.card("one", "area"), config=config).largest_learned == largest


def test_caption_describes_effect_of_single_items() -> None:
    single = describe_area_size(1, EXTENT, 5, 5)
    assert "keeps what it learned" in single and "leaves out" in single
    assert (
        "areas of up to 5"
        in describe_area_size(AS_TRAINED, EXTENT, 5, 5)
        == describe_area_size(5, EXTENT, 5, 5)
    )
    assert describe_area_size(3, EXTENT, 5, 5).startswith("Areas hold up to 3 neighbouring items")
    assert "by the same weights" in describe_area_size(1, EXTENT, 0, 5)
    assert "single items" in describe_area_size(AS_TRAINED, EXTENT, 0, 1)


def script(config: dict, chosen: int) -> None:  # type: ignore[type-arg]  # runs without this file's imports
    from dataclasses import replace

    from areaviz.app.options import ModelState, draw_run_options
    from areaviz.app.page import Page
    from tests.pages import folder

    page = Page("translate", "", ModelState(area_size=chosen))
    draw_run_options(page, replace(folder.card("one", "area"), config=config))


@pytest.mark.parametrize(
    ("config", "end"), [({"area_size": 3, "key_mode": "boundary"}, "3"), ({"area_size": 3}, "5")]
)
def test_slider_ends_at_the_trained_size(config: dict[str, Any], end: str) -> None:
    page = AppTest.from_function(script, kwargs={"config": config, "chosen": 1}).run()
    assert not page.exception
    assert page.select_slider[0].options[-2:] == [end, "As trained (3)"]


def test_counterpart_is_most_similar_model_with_different_attention() -> None:
    area = replace(folder.card("area", "area"), pair="a", size="")
    paired = replace(folder.card("paired", "regular"), pair="a", size="")
    sized = replace(folder.card("sized", "regular"), pair="b", size="")
    other = replace(folder.card("other", "regular"), pair="c", size="Small")
    captions = replace(folder.card("captions", "regular"), task="caption")
    cards = {card.name: card for card in (captions, other, sized, paired, area)}
    for expected in (paired, sized, other):
        assert find_counterpart(area, cards) == expected
        del cards[expected.name]
    assert find_counterpart(area, cards) is None


def test_counterpart_can_be_a_twin_of_equal_attention() -> None:
    one, twin, other = (folder.card(name, "item-wise soft") for name in ("one", "twin", "other"))
    one, twin = replace(one, pair="pair"), replace(twin, pair="pair")
    other = replace(other, pair="other")
    assert find_counterpart(one, {card.name: card for card in (other, one, twin)}) == twin
    assert find_counterpart(other, {card.name: card for card in (other, one, twin)}) is None
