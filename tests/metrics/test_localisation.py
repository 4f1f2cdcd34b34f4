"""Hits, coverage and overlap compared with loops over pixels and exact areas of polygons."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.measures.pointing import compute_box_overlap, compute_covered_share, find_hits

Array = npt.NDArray[np.float64]
SIDE = 9
SOME = settings(deadline=None, max_examples=60)
BOX = st.tuples(
    st.integers(-4, SIDE), st.integers(-4, SIDE), st.integers(1, 9), st.integers(1, 9)
).map(lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3]))
GOLD = st.tuples(
    st.integers(0, SIDE - 1), st.integers(0, SIDE - 1), st.integers(1, 9), st.integers(1, 9)
).map(lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3]))
PLACE = st.tuples(st.integers(-8, 4 * SIDE), st.integers(-8, 4 * SIDE)).map(
    lambda place: (place[0] / 4, place[1] / 4)
)


def pixels(boxes: list[tuple[int, int, int, int]], side: int) -> set[tuple[int, int]]:
    """Return the pixels (x, y) of the picture that are in any of the boxes."""
    return {
        (x, y)
        for left, top, right, bottom in boxes
        for x in range(max(left, 0), min(right, side))
        for y in range(max(top, 0), min(bottom, side))
    }


def turned_square(middle: tuple[float, float], half: float, degrees: float) -> Array:
    """Return the corners of a turned square, clockwise from its former top left: [4, 2]."""
    turn = math.radians(degrees)
    across, down = (
        np.array([math.cos(turn), math.sin(turn)]),
        np.array([-math.sin(turn), math.cos(turn)]),
    )
    signs = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    return np.array([np.array(middle) + half * (x * across + y * down) for x, y in signs])


def area(polygon: list[tuple[float, float]]) -> float:
    """Return the area of a polygon by its triangles with the origin."""
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2


def clipped(
    polygon: list[tuple[float, float]], axis: int, limit: float, sign: int
) -> list[tuple[float, float]]:
    """Return the part of a convex polygon where sign * (coordinate - limit) >= 0.

    This is the algorithm of Sutherland & Hodgman 1974.
    """
    kept: list[tuple[float, float]] = []
    for here, there in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        inside, beyond = sign * (here[axis] - limit), sign * (there[axis] - limit)
        if inside >= 0:
            kept.append(here)
        if inside * beyond < 0:
            part = inside / (inside - beyond)
            kept.append(
                (here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1]))
            )
    return kept


def exact_overlap(corners_42: Array, box: tuple[int, int, int, int], side: int) -> float:
    """Return the exact intersection over union, with the quadrilateral cut to the picture first."""

    def cut(
        polygon: list[tuple[float, float]], edges: tuple[int, int, int, int]
    ) -> list[tuple[float, float]]:
        for axis, limit, sign in zip((0, 1, 0, 1), edges, (1, 1, -1, -1), strict=True):
            polygon = clipped(polygon, axis, limit, sign)
        return polygon

    seen = cut([(float(x), float(y)) for x, y in corners_42], (0, 0, side, side))
    shared = area(cut(seen, box))
    return shared / (area(seen) + (box[2] - box[0]) * (box[3] - box[1]) - shared)


def overlap(corners_42: Array, box: tuple[int, int, int, int], side: int) -> float:
    return float(compute_box_overlap(np.asarray(corners_42)[None], np.array([box]), side)[0])


def test_right_and_bottom_edges_are_outside() -> None:
    places = np.array([[[2, 3], [4.99, 5.99], [5, 4], [3, 6], [1.99, 4]]], dtype=np.float32)
    assert find_hits(places, np.array([[[2, 3, 5, 6]]])).tolist() == [
        [True, True, False, False, False]
    ]


@SOME
@given(st.lists(st.tuples(PLACE, PLACE, BOX, BOX), min_size=1, max_size=4))
def test_place_in_any_box_is_a_hit(pictures: list[tuple[tuple[int, ...], ...]]) -> None:
    places = np.array([[one, two] for one, two, _, _ in pictures])
    boxes = np.array([[one, two] for _, _, one, two in pictures])
    slow = [
        [
            any(box[0] <= x < box[2] and box[1] <= y < box[3] for box in picture[2:])
            for x, y in picture[:2]
        ]
        for picture in pictures
    ]
    assert find_hits(places, boxes).tolist() == slow


@SOME
@given(st.lists(st.tuples(BOX, BOX, BOX, GOLD, GOLD), min_size=1, max_size=3))
def test_coverage_counts_pixels_once(pictures: list[tuple[tuple[int, int, int, int], ...]]) -> None:
    found = compute_covered_share(
        np.array([row[:3] for row in pictures]), np.array([row[3:] for row in pictures]), SIDE
    )
    gold = [pixels(list(row[3:]), SIDE) for row in pictures]
    read = [pixels(list(row[:3]), SIDE) for row in pictures]
    assert found == pytest.approx([len(g & r) / len(g) for g, r in zip(gold, read, strict=True)])


@SOME
@given(BOX, GOLD, st.integers(0, 3), st.booleans())
def test_overlap_of_two_boxes(
    seen: tuple[int, int, int, int], gold: tuple[int, int, int, int], start: int, reverse: bool
) -> None:
    left, top, right, bottom = seen
    corners = np.roll([(left, top), (right, top), (right, bottom), (left, bottom)], start, 0)
    mine, its = pixels([seen], SIDE), pixels([gold], SIDE)
    found = overlap(corners[::-1] if reverse else corners, gold, SIDE)
    assert found == pytest.approx(len(mine & its) / len(mine | its))


def test_overlap_with_a_square_turned_by_45_degrees() -> None:
    # Two equal squares, one turned by 45 degrees about the common centre, share an octagon: 1 /
    # sqrt(2).
    assert overlap(turned_square((100, 100), 60, 45), (40, 40, 160, 160), 200) == pytest.approx(
        0.5**0.5, abs=0.005
    )
    # A square on its tip fills half of the box that its tips touch.
    diamond = turned_square((100, 100), 60 / math.sqrt(2), 45)
    assert overlap(diamond, (40, 40, 160, 160), 200) == pytest.approx(0.5, abs=0.01)


def test_overlap_with_any_quadrilateral_of_an_affine_map() -> None:
    rng, side = np.random.default_rng(0), 120
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    corners = rng.uniform(20, 100, (200, 1, 2)) + signs @ rng.uniform(-40, 40, (200, 2, 2))
    starts = rng.integers(0, 80, (200, 2))
    boxes = np.concatenate([starts, starts + rng.integers(20, 40, (200, 2))], 1)
    exact = [
        exact_overlap(one, tuple(box.tolist()), side)
        for one, box in zip(corners, boxes, strict=True)
    ]
    assert sum(value > 0.1 for value in exact) > 20
    np.testing.assert_allclose(compute_box_overlap(corners, boxes, side), exact, atol=0.01)


@pytest.mark.parametrize(
    "corners",
    [[(4, 4)] * 4, [(0, 0), (9, 9), (9, 9), (0, 0)], [(2, 2.5), (7, 2.5), (7, 2.5), (2, 2.5)]],
    ids=["point", "diagonal", "line"],
)
def test_degenerate_shape_overlaps_nothing(corners: list[tuple[float, float]]) -> None:
    assert overlap(np.array(corners, dtype=np.float32), (2, 2, 7, 7), SIDE) == 0


def test_mirrored_look_equals_unmirrored_look() -> None:
    square = turned_square((5, 4), 3, 20)
    assert overlap(square, (2, 2, 7, 7), SIDE) == overlap(square[::-1], (2, 2, 7, 7), SIDE) > 0.5
