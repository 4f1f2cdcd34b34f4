"""Lessons 4 and 5: attention over areas and the featured key, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.learn import arithmetic
from areaviz.learn.arithmetic import Floats, select_items

QUERIES = [np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([-1.5, 0.5])]


@pytest.mark.parametrize(
    ("query", "output"), [(QUERIES[0], [7.723484, 9.374822]), (QUERIES[1], [6.300080, 7.989599])]
)
def test_attention_gives_the_known_outputs(query: Floats, output: list[float]) -> None:
    np.testing.assert_allclose(arithmetic.attend_spans(query, 3).output, output, atol=1e-6)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_factored_form_equals_plain_attention(query: Floats, size: int) -> None:
    found = arithmetic.attend_spans(query, size)
    scores = arithmetic.KEYS_ND @ query
    means = [
        scores[area.left : area.left + area.width].mean()
        for area in map(found.grid.area, range(found.grid.count))
    ]
    np.testing.assert_allclose(found.logits, means, atol=1e-12)
    np.testing.assert_allclose(found.output, found.coverage @ arithmetic.VALUES_ND, atol=1e-12)
    np.testing.assert_allclose(found.coverage.sum(), found.weights @ found.grid.sizes(), atol=1e-12)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_top_area_is_a_single_item(query: Floats, size: int) -> None:
    found = arithmetic.attend_spans(query, size)
    assert found.grid.area(int(found.weights.argmax())).width == 1


@pytest.mark.parametrize("query", QUERIES)
def test_areas_of_one_item_are_regular_attention(query: Floats) -> None:
    found = arithmetic.attend_spans(query, 1)
    exponentials = np.exp(arithmetic.KEYS_ND @ query)
    softmax = exponentials / exponentials.sum()
    np.testing.assert_allclose(found.coverage, softmax)
    np.testing.assert_allclose(found.output, softmax @ arithmetic.VALUES_ND)


@pytest.mark.parametrize("number", range(arithmetic.FEATURES_GRID.count))
def test_featured_key_follows_equations_5_to_9(number: int) -> None:
    area = arithmetic.FEATURES_GRID.area(number)
    found, items = arithmetic.compute_key(area), select_items(arithmetic.MEMORY_HWD, area)
    mean = sum(items) / area.size
    deviation = np.sqrt(sum((item - mean) ** 2 for item in items) / area.size)
    shape = [*arithmetic.HEIGHTS[area.height - 1], *arithmetic.WIDTHS[area.width - 1]]
    hidden = (
        mean @ arithmetic.W_MEAN + deviation @ arithmetic.W_DEVIATION + shape @ arithmetic.W_SHAPE
    )
    np.testing.assert_allclose(
        found.key, np.where(hidden > 0, hidden, 0) @ arithmetic.W_OUT, atol=1e-12
    )


def test_relu_cuts_a_value_in_the_example() -> None:
    hidden = [
        arithmetic.compute_key(arithmetic.FEATURES_GRID.area(number)).hidden
        for number in range(arithmetic.FEATURES_GRID.count)
    ]
    assert (np.stack(hidden) < 0).any()
