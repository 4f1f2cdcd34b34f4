"""Lessons 4 and 5: attention over areas and the featured key, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lessons import attention, features
from areaviz.lessons.arithmetic import Floats, select_items

QUERIES = [np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([-1.5, 0.5])]


@pytest.mark.parametrize(
    ("query", "output"), [(QUERIES[0], [7.723484, 9.374822]), (QUERIES[1], [6.300080, 7.989599])]
)
def test_attention_gives_the_known_outputs(query: Floats, output: list[float]) -> None:
    np.testing.assert_allclose(attention.attend(query, 3).output, output, atol=1e-6)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_factored_form_equals_plain_attention(query: Floats, size: int) -> None:
    found = attention.attend(query, size)
    scores = attention.KEYS_ND @ query
    means = [
        scores[area.left : area.left + area.width].mean()
        for area in map(found.grid.area, range(found.grid.count))
    ]
    np.testing.assert_allclose(found.logits, means, atol=1e-12)
    np.testing.assert_allclose(found.output, found.coverage @ attention.VALUES_ND, atol=1e-12)
    np.testing.assert_allclose(found.coverage.sum(), found.weights @ found.grid.sizes(), atol=1e-12)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_top_area_is_a_single_item(query: Floats, size: int) -> None:
    found = attention.attend(query, size)
    assert found.grid.area(int(found.weights.argmax())).width == 1


@pytest.mark.parametrize("query", QUERIES)
def test_areas_of_one_item_are_regular_attention(query: Floats) -> None:
    found = attention.attend(query, 1)
    exponentials = np.exp(attention.KEYS_ND @ query)
    softmax = exponentials / exponentials.sum()
    np.testing.assert_allclose(found.coverage, softmax)
    np.testing.assert_allclose(found.output, softmax @ attention.VALUES_ND)


@pytest.mark.parametrize("number", range(features.GRID.count))
def test_featured_key_follows_equations_5_to_9(number: int) -> None:
    area = features.GRID.area(number)
    found, items = features.compute_key(area), select_items(features.MEMORY_HWD, area)
    mean = sum(items) / area.size
    deviation = np.sqrt(sum((item - mean) ** 2 for item in items) / area.size)
    shape = [*features.HEIGHTS[area.height - 1], *features.WIDTHS[area.width - 1]]
    hidden = mean @ features.W_MEAN + deviation @ features.W_DEVIATION + shape @ features.W_SHAPE
    np.testing.assert_allclose(
        found.key, np.where(hidden > 0, hidden, 0) @ features.W_OUT, atol=1e-12
    )


def test_relu_cuts_a_value_in_the_example() -> None:
    hidden = [
        features.compute_key(features.GRID.area(number)).hidden
        for number in range(features.GRID.count)
    ]
    assert (np.stack(hidden) < 0).any()
