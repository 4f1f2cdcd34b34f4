"""The three displays of a map and the head's average, compared with slow and known answers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.trace import query
from areaviz.trace.areas import Area, AreaGrid, FloatArray
from areaviz.trace.record import AttentionMap
from areaviz.trace.request import Focus
from tests import fakes
from tests.trace.strategies import maps


def of_items(shares_QN: FloatArray, longest: int = 1) -> AttentionMap:
    """Return one head that attends to single items in the given shares."""
    grid = AreaGrid(1, shares_QN.shape[1], 1, longest)
    weights = np.zeros((1, 1, len(shares_QN), grid.count), np.float32)
    weights[0, 0, :, : shares_QN.shape[1]] = shares_QN
    return AttentionMap("encoder-decoder", "target", "source", grid, weights)


SUNK = np.array([[0.8, 0.1, 0.1, 0.0], [0.8, 0.0, 0.1, 0.1]], np.float32)


@settings(deadline=None, max_examples=50)
@given(maps(), st.data())
def test_read_areas_matches_algebra_for_one_query(
    attention: AttentionMap, data: st.DataObject
) -> None:
    asked = data.draw(st.integers(0, attention.weights.shape[2] - 1))
    head = data.draw(st.none() | st.integers(0, attention.heads - 1))
    focus = Focus("site", head=head, mass=data.draw(st.sampled_from(query.MASSES)))
    grid = attention.grid

    def found(name: str) -> list[query.Attended]:
        return query.read_areas(attention, replace(focus, reading=name), head, [asked], 3)

    assert found("heaviest") == query.top_areas(attention, 0, head, asked)
    covered = query.item_shares(attention, 0, head)[asked]
    best = sorted(range(grid.items), key=lambda item: (-covered[item], item))[:3]
    expected = [query.make_item_area(grid, item) for item in best if covered[item] > 0]
    assert [one.area for one in found("coverage")] == expected
    densest = query.densest_areas(attention, 0, head, focus.mass / 100)[asked]
    assert found("densest") == ([densest] if densest else [])


@settings(deadline=None, max_examples=30)
@given(maps())
def test_sent_densities_equal_densest_areas_read(attention: AttentionMap) -> None:
    queries = attention.weights.shape[2]
    rows = [*((query_, query_ + 1) for query_ in range(queries)), (0, queries)]
    heads = range(attention.heads)
    shares = np.stack([query.item_shares(attention, 0, head) for head in heads])
    of_heads = query.find_densest_areas(shares, attention.grid, rows)
    for head in heads:
        sent = query.Densities(of_heads.ends[head], of_heads.share[head])
        for row, (start, end) in enumerate(rows):
            for number, mass in enumerate(query.MASSES):
                focus = Focus("site", reading="densest", mass=mass)
                some = list(range(start, end))
                one = query.read_areas(attention, focus, head, some, 1)
                share = float(sent.share[row, number])
                assert share == pytest.approx(one[0].weight if one else 0)
                if one:
                    first, last = sent.ends[row, number].tolist()
                    top, left = divmod(first, attention.grid.width)
                    bottom, right = divmod(last, attention.grid.width)
                    area = Area(top, left, bottom - top + 1, right - left + 1)
                    assert area == one[0].area


@settings(deadline=None, max_examples=30)
@given(maps(), st.sampled_from(["heaviest", "densest", "coverage"]))
def test_area_of_each_row_is_first_read_area(attention: AttentionMap, name: str) -> None:
    queries = attention.weights.shape[2]
    rows = [(0, 1), (0, queries)]
    for head in (None, 0):
        focus = Focus("site", head=head, reading=name)
        found = query.find_area_of_each(attention, focus, rows)
        if name == "coverage":
            assert found == [None, None]
            continue
        for one, (start, end) in zip(found, rows, strict=True):
            first = query.read_areas(attention, focus, head, list(range(start, end)), 1)
            assert (one and one.weight or 0) == pytest.approx(first[0].weight if first else 0)


def test_densest_span_may_exceed_largest_model_area() -> None:
    even = of_items(np.full((1, 4), 0.25, np.float32))
    focus = Focus("site", reading="densest", mass=70)
    assert query.read_areas(even, focus, 0, [0], 3) == [query.Attended(Area(0, 0, 1, 3), 0.75)]


def test_sink_disappears_against_the_average() -> None:
    ratio_QN = query.compare_with_average(SUNK)
    assert ratio_QN[:, [0, 2]] == pytest.approx(np.zeros((2, 2)), abs=1e-6)
    more = math.log2((0.9 * 0.1 + 0.025) / (0.9 * 0.05 + 0.025))
    assert ratio_QN[0, 1] == ratio_QN[1, 3] == pytest.approx(more)
    assert ratio_QN[1, 1] < 0


@settings(deadline=None, max_examples=50)
@given(maps())
def test_average_covers_only_attending_queries(attention: AttentionMap) -> None:
    shares_QN = query.item_shares(attention, 0, 0)
    ratio_QN, items = query.compare_with_average(shares_QN), attention.grid.items
    seen = [row for row in shares_QN.tolist() if any(row)]
    for row, shares in enumerate(shares_QN.tolist()):
        for item in range(items):
            expected = 0.0
            if any(shares):
                mean = sum(one[item] for one in seen) / len(seen)
                expected = math.log2(
                    (0.9 * shares[item] + 0.1 / items) / (0.9 * mean + 0.1 / items)
                )
            assert ratio_QN[row, item] == pytest.approx(expected, abs=1e-4)


def test_words_are_compared_as_whole_words() -> None:
    found = query.map_of(of_items(SUNK), 0, 0, "average", memory=[(0, 1), (1, 2), (2, 4)])
    assert found.shape == (2, 3) and found[0, 2] < 0 < found[1, 2]
    plain = query.map_of(of_items(SUNK), 0, 0, "nothing", queries=[(0, 2)])
    assert plain == pytest.approx(SUNK.mean(0, keepdims=True))


def test_sink_item_exceeds_half_of_mean_map() -> None:
    [sink] = query.find_sinks(of_items(SUNK), 0)
    assert (sink.head, sink.item) == (0, 0) and sink.share == pytest.approx(0.8)
    turned = np.eye(3, dtype=np.float32)
    assert query.find_sinks(of_items(turned), 0) == []
    masked = np.concatenate([SUNK, np.zeros((9, 4), np.float32)])
    assert [sink.item for sink in query.find_sinks(of_items(masked), 0)] == [0]
    assert query.find_sinks(of_items(SUNK[:1]), 0) == []


def test_single_item_is_not_a_sink() -> None:
    assert query.find_sinks(of_items(np.ones((3, 1), np.float32)), 0) == []


def test_picture_reading_has_cells_as_areas() -> None:
    seen = fakes.caption_trace()
    attention = seen.maps["encoder-decoder"]
    focus = Focus("encoder-decoder", reading="coverage")
    found = query.read_areas(attention, focus, None, [0], 2)
    covered = query.item_shares(attention, 0, None)[0]
    assert found[0].area == query.make_item_area(attention.grid, int(covered.argmax()))
    assert found[0].weight == pytest.approx(float(covered.max()))
