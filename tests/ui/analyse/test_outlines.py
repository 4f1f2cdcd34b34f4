"""Points within the outlines of a drag, compared with a slow version."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.sets.app.filter import MAX_CORNERS, MAX_OUTLINES, Outline, read_outlines


def winding_number(x: float, y: float, corners: list[tuple[float, float]]) -> int:
    """Return the number of times that a polygon winds around a point."""
    turned = 0.0
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        angle = np.arctan2(y1 - y, x1 - x) - np.arctan2(y0 - y, x0 - x)
        turned += (angle + np.pi) % (2 * np.pi) - np.pi
    return round(turned / (2 * np.pi))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=8))
def test_polygon_contains_the_points_inside_it(corners: list[tuple[int, int]]) -> None:
    places = [(x + 0.31, y + 0.43) for x in range(9) for y in range(9)]
    x_P, y_P = np.array(places).T
    x_C, y_C = np.array(corners, float).T
    # An odd number of turns is inside by the even-odd rule, too.
    expected = [
        winding_number(x, y, [(float(a), float(b)) for a, b in corners]) % 2 == 1 for x, y in places
    ]
    assert Outline(x_C, y_C).contains(x_P, y_P).tolist() == expected


def test_rectangle_contains_its_border_and_no_missing_values() -> None:
    outline = Outline(np.array([4.0, 1.0]), np.array([0.0, 2.0]))
    x_P = np.array([1.0, 4.0, 4.1, np.nan, 2.0])
    y_P = np.array([0.0, 2.0, 1.0, 1.0, np.nan])
    assert outline.contains(x_P, y_P).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(
    "reported",
    [
        None,
        "text",
        5,
        [5],
        [{}],
        [{"x": [1], "y": [1]}],
        [{"x": [1, 2], "y": [1, 2, 3]}],
        [{"x": [[1, 2]], "y": [[1, 2]]}],
        [{"x": ["a", "b"], "y": [1, 2]}],
        [{"x": [1, None], "y": [1, 2]}],
        [{"x": [1, 1e999], "y": [1, 2]}],
        [{"x": [0] * (MAX_CORNERS + 1), "y": [0] * (MAX_CORNERS + 1)}],
    ],
)
def test_invalid_outline_is_left_out(reported: object) -> None:
    assert read_outlines(reported) == []


def test_number_of_outlines_is_bounded() -> None:
    assert len(read_outlines([{"x": [0, 1], "y": [0, 1]}] * 100)) == MAX_OUTLINES
