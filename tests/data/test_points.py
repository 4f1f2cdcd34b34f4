"""Exact answers for points, compared with every order and every line through two points."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.samples.reasoning import (
    compute_signed_area,
    draw_point_sets,
    find_convex_hull,
    find_leftmost_point,
    find_shortest_tours,
    measure_tour_length,
    normalise_points,
    order_around_mean,
    order_tours_from_leftmost,
    solve_exactly,
)


def slow_tour(points: np.ndarray) -> float:
    """Return the length of the shortest of all tours."""
    rest = range(1, len(points))
    return min(measure_tour_length(points, (0, *order)) for order in permutations(rest))


def slow_hull(points: np.ndarray) -> set[int]:
    """Return the points on a line through two of them that has no point on its right."""
    found = set()
    for i, a in enumerate(points):
        for j, b in enumerate(points):
            across = (b - a)[0] * (points - a)[:, 1] - (b - a)[1] * (points - a)[:, 0]
            if i != j and (across > -1e-12).all():
                found |= {i, j}
    return found


@given(st.integers(3, 7), st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_no_tour_is_shorter(points: int, seed: int) -> None:
    sets = draw_point_sets("tour", 3, points, np.random.default_rng(seed))
    for places, tour in zip(sets.points, sets.answers, strict=True):
        assert sorted(tour) == list(range(points))
        assert measure_tour_length(places, list(tour)) == pytest.approx(slow_tour(places), abs=1e-5)
        assert tour[0] == find_leftmost_point(places) and compute_signed_area(places[tour]) >= 0


@given(st.integers(3, 10), st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_hull_has_every_outer_point_counter_clockwise(points: int, seed: int) -> None:
    places = np.random.default_rng(seed).random((points, 2))
    hull = find_convex_hull(places)
    assert set(hull) == slow_hull(places)
    assert hull[0] == find_leftmost_point(places) and compute_signed_area(places[hull]) > 0


def test_points_known_answers() -> None:
    square = np.array([[0.0, 0.0], [1, 1], [1, 0], [0, 1], [0.5, 0.4]])
    assert find_convex_hull(square) == [0, 2, 1, 3]
    assert solve_exactly("hull", square[None]).tolist() == [[0, 2, 1, 3, -1]]
    assert measure_tour_length(square, [0, 2, 1, 3]) == 4
    assert find_shortest_tours(square[None, :4]).tolist() == [[0, 2, 1, 3]]
    assert order_tours_from_leftmost(square[None, :4], np.array([[1, 2, 0, 3]])).tolist() == [
        [0, 2, 1, 3]
    ]


def test_points_on_a_line_have_no_hull() -> None:
    line = np.array([[0.0, 0.0], [0.5, 0.5], [1, 1]])
    with pytest.raises(ValueError, match="on one line"):
        find_convex_hull(line)


@given(st.integers(3, 10), st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_reading_order_does_not_depend_on_input_order(points: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.random((1, points, 2))
    shuffled = places[:, rng.permutation(points)]
    one, two = places[0, order_around_mean(places)[0]], shuffled[0, order_around_mean(shuffled)[0]]
    np.testing.assert_array_equal(one, two)
    assert (one[0] == places[0, find_leftmost_point(places[0])]).all()
    moved = normalise_points(3 * places + 7)
    np.testing.assert_allclose(moved, normalise_points(places), atol=1e-12)
    assert np.linalg.norm(moved, axis=2).max() == pytest.approx(1)
