"""Lessons 4 and 5: attention over areas and the featured key, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lessons import attention, features
from areaviz.lessons.arithmetic import Floats, items_of, plain, vector
from areaviz.trace.areas import Area

QUERIES = [np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([-1.5, 0.5])]


@pytest.mark.parametrize(
    ("query", "output"), [(QUERIES[0], [7.723484, 9.374822]), (QUERIES[1], [6.300080, 7.989599])]
)
def test_the_known_outputs(query: Floats, output: list[float]) -> None:
    np.testing.assert_allclose(attention.attend(query, 3).output, output, atol=1e-6)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_factored_form_is_the_same_attention(query: Floats, size: int) -> None:
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
def test_areas_of_one_item_are_regular_attention(query: Floats) -> None:
    found = attention.attend(query, 1)
    exponentials = np.exp(attention.KEYS_ND @ query)
    softmax = exponentials / exponentials.sum()
    np.testing.assert_allclose(found.coverage, softmax)
    np.testing.assert_allclose(found.output, softmax @ attention.VALUES_ND)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_heaviest_area_is_a_single_item_and_without_those_one_of_two_or_three(
    query: Floats, size: int
) -> None:
    found = attention.attend(query, size)
    area, weight = attention.heaviest(found)
    assert area.width == 1 and weight == found.weights.max()
    if size > 1:
        assert attention.heaviest(found, 2)[0].width in (2, 3)


def test_the_equations_carry_the_numbers_of_the_chosen_area() -> None:
    found = attention.attend(QUERIES[0], 3)
    assert r"(1, 0)\cdot(1.5, 0) = 1.5" in attention.logit_equation(found, Area(0, 2, 1, 2))
    assert r"\mathbf{0.171}" in attention.logit_equation(found, Area(0, 2, 1, 2))
    assert r"\mathbf{(7.723, 9.375)}" in attention.output_equation(found)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_pictures_show_every_area_and_the_output(size: int) -> None:
    found = attention.attend(QUERIES[0], size)
    figure = attention.figure(found, found.grid.area(0))
    assert sorted(figure.data[0].customdata) == list(range(found.grid.count))
    texts = {note.text for note in figure.layout.annotations}
    assert {f"{weight:.3f}" for weight in found.weights} <= texts
    output = attention.plane(found).data[-1]
    np.testing.assert_allclose([output.x[0], output.y[0]], found.output)
    assert len(attention.table(found).rows) == found.grid.count
    assert attention.items_table(found).rows[-1][2] == attention.vector(found.output)


@pytest.mark.parametrize("query", [np.array([x, y]) for x in (-2.0, 0, 2) for y in (-2.0, 0, 2)])
def test_no_query_of_the_sliders_leaves_the_plane(query: Floats) -> None:
    for size in range(1, 5):
        plane = attention.plane(attention.attend(query, size))
        output = plane.data[-1]
        assert plane.layout.xaxis.range[0] < output.x[0] < plane.layout.xaxis.range[1]
        assert plane.layout.yaxis.range[0] < output.y[0] < plane.layout.yaxis.range[1]


@pytest.mark.parametrize("number", range(features.GRID.count))
def test_the_featured_key_follows_equations_5_to_9(number: int) -> None:
    area = features.GRID.area(number)
    found, items = features.key_of(area), items_of(features.MEMORY_HWD, area)
    mean = sum(items) / area.size
    deviation = np.sqrt(sum((item - mean) ** 2 for item in items) / area.size)
    shape = [*features.HEIGHTS[area.height - 1], *features.WIDTHS[area.width - 1]]
    hidden = mean @ features.W_MEAN + deviation @ features.W_DEVIATION + shape @ features.W_SHAPE
    np.testing.assert_allclose(
        found.key, np.where(hidden > 0, hidden, 0) @ features.W_OUT, atol=1e-12
    )


def test_the_relu_cuts_something_in_the_example() -> None:
    hidden = [
        features.key_of(features.GRID.area(number)).hidden for number in range(features.GRID.count)
    ]
    assert (np.stack(hidden) < 0).any()


def test_the_key_stands_in_picture_equation_and_table() -> None:
    area = Area(0, 1, 2, 2)
    key = features.key_of(area).key
    written = vector(key, 2)
    assert rf"\mathbf{{{written}}}" in features.equations(area)
    assert written in {row[-1] for row in features.table().rows}
    texts = {note.text for note in features.figure(area).layout.annotations}
    assert {plain(float(number), 2) for number in key} <= texts
    assert len(features.lit_memory(area).data[0].customdata) == features.GRID.items
    assert r"\begin{bmatrix}" in features.weights_equation()
