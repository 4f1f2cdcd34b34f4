"""Areas that are sent to the browser: those that can be requested, then the heaviest others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace.areas import AreaGrid, rank_areas
from areaviz.views.message import choose_sent_areas
from tests.interactive.test_ribbon import random_map


@given(
    st.integers(1, 24), st.integers(1, 6), st.integers(1, 40), st.integers(1, 2), st.integers(0, 99)
)
def test_heaviest_other_areas_follow_the_top_areas(
    items: int, area_size: int, kept: int, least: int, seed: int
) -> None:
    attention = random_map(items, 3, area_size, seed)
    weights_HQA, grid = attention.weights[0], attention.grid
    least = min(least, grid.max_width)
    first = rank_areas(weights_HQA, grid, 4, min_size=least)
    found = choose_sent_areas(weights_HQA, grid, [(4, 0.5)], kept, least)
    counted = np.where(grid.sizes() >= least, weights_HQA, 0)
    for head, query in np.ndindex(found.weight.shape[:2]):
        weight, index = found.weight[head, query], found.index[head, query]
        taken = index[weight > 0]
        assert len(set(taken.tolist())) == len(taken)
        np.testing.assert_array_equal(counted[head, query][taken], weight[weight > 0])
        lead = first.index[head, query][first.weight[head, query] > 0]
        assert taken[: len(lead)].tolist() == lead[: len(weight)].tolist()
        if kept > 4:
            others = np.sort(np.delete(counted[head, query], lead))[::-1]
            expected = others[: max(min(kept, grid.count) - len(lead), 0)]
            np.testing.assert_array_equal(weight[len(lead) :], expected)


def test_masked_query_has_no_areas() -> None:
    grid = AreaGrid(1, 6, 1, 3)
    for kept in (4, 9):
        assert not choose_sent_areas(
            np.zeros((1, 2, grid.count), np.float32), grid, [(4, 0.5)], kept
        ).weight.any()
