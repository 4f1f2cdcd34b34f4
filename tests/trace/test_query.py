"""Queries on a trace compared with slow, obvious answers, on sequences and on grids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from areaviz.trace import query
from areaviz.trace.areas import Area, AreaGrid, FloatArray
from areaviz.trace.record import AttentionMap, Field
from areaviz.trace.request import Focus
from tests import fakes
from tests.trace.strategies import SOME, fields, maps


def items_of(area: Area, grid: AreaGrid) -> list[int]:
    """Return the items of an area, counted row by row."""
    rows, columns = (
        range(area.top, area.top + area.height),
        range(area.left, area.left + area.width),
    )
    return [row * grid.width + column for row in rows for column in columns]


def areas_of(grid: AreaGrid) -> list[Area]:
    return [grid.area(index) for index in range(grid.count)]


def chosen(attention: AttentionMap, layer: int, head: int | None) -> FloatArray:
    weights: FloatArray = (
        attention.weights[layer].mean(0) if head is None else attention.weights[layer, head]
    )
    return weights


def places(attention: AttentionMap, data: st.DataObject) -> tuple[int, int | None]:
    """Draw a layer and a head. None means all heads."""
    layer = data.draw(st.integers(0, attention.layers - 1))
    return layer, data.draw(st.none() | st.integers(0, attention.heads - 1))


def two_spans() -> AttentionMap:
    """Return one query over four items.

    Half of its weight is on items 1-2, a quarter on item 0, and a quarter on items 1-3.
    """
    grid = AreaGrid(1, 4, 1, 3)
    weights = np.zeros((1, 1, 1, grid.count), dtype=np.float32)
    for area, weight in (
        (Area(0, 1, 1, 2), 0.5),
        (Area(0, 0, 1, 1), 0.25),
        (Area(0, 1, 1, 3), 0.25),
    ):
        weights[..., grid.index(area)] = weight
    return AttentionMap("encoder-decoder", "target", "source", grid, weights)


def test_queries_known_answers() -> None:
    attention = two_spans()
    assert query.coverage(attention, 0, 0).tolist() == [[0.25, 0.75, 0.75, 0.25]]
    assert query.item_shares(attention, 0, 0).tolist() == [[0.125, 0.375, 0.375, 0.125]]
    assert query.entropy(attention, 0, 0).tolist() == [1.5]
    assert query.area_size_shares(attention, 0, 0) == {1: 0.25, 2: 0.5, 3: 0.25}
    assert query.top_areas(attention, 0, 0, 0, k=9) == [
        query.Attended(Area(0, 1, 1, 2), 0.5),
        query.Attended(Area(0, 0, 1, 1), 0.25),
    ]
    assert query.top_areas(attention, 0, 0, 0, k=9, max_overlap=1.0)[2].area == Area(0, 1, 1, 3)
    assert query.top_areas(attention, 0, 0, 0, min_size=3) == [
        query.Attended(Area(0, 1, 1, 3), 0.25)
    ]
    assert query.top_queries(attention, 0, 0, item=2) == [query.Attending(0, 0.75)]
    summary = query.head_summary(attention)
    assert (summary.entropy.item(), summary.area_size.item(), summary.peak.item()) == (
        1.5,
        2.0,
        0.5,
    )
    assert math.isnan(summary.distance.item())


@SOME
@given(maps(), st.data())
def test_coverage_adds_up_areas_containing_an_item(
    attention: AttentionMap, data: st.DataObject
) -> None:
    layer, head = places(attention, data)
    weights = chosen(attention, layer, head)
    expected = np.zeros((len(weights), attention.grid.items))
    for index, area in enumerate(areas_of(attention.grid)):
        for item in items_of(area, attention.grid):
            expected[:, item] += weights[:, index]
    covered = query.coverage(attention, layer, head)
    assert covered.dtype == np.float32
    np.testing.assert_allclose(covered, expected, atol=1e-6)
    np.testing.assert_allclose(covered.sum(-1), weights @ attention.grid.sizes(), atol=1e-5)


@SOME
@given(maps(), st.data())
def test_item_shares_sum_to_one_or_zero(attention: AttentionMap, data: st.DataObject) -> None:
    layer, head = places(attention, data)
    shares, covered = (
        query.item_shares(attention, layer, head),
        query.coverage(attention, layer, head),
    )
    masked = ~chosen(attention, layer, head).any(-1)
    np.testing.assert_allclose(shares.sum(-1), np.where(masked, 0, 1), atol=1e-5)
    np.testing.assert_allclose(shares * covered.sum(-1, keepdims=True), covered, atol=1e-5)


@SOME
@given(maps(), st.data())
def test_entropy_equals_textbook_sum(attention: AttentionMap, data: st.DataObject) -> None:
    layer, head = places(attention, data)
    expected = [
        -sum(p * math.log2(p) for p in row if p > 0)
        for row in chosen(attention, layer, head).tolist()
    ]
    np.testing.assert_allclose(query.entropy(attention, layer, head), expected, atol=1e-4)


def heaviest_by_hand(
    attention: AttentionMap, weights: list[float], k: int, max_overlap: float
) -> list[int]:
    """Go through the areas by weight and keep each one that hardly overlaps those kept before."""
    areas, kept = areas_of(attention.grid), list[int]()
    for index in sorted(range(len(weights)), key=lambda index: (-weights[index], index)):
        own, others = (
            set(items_of(areas[index], attention.grid)),
            [items_of(areas[i], attention.grid) for i in kept],
        )
        fits = all(len(own & set(other)) / len(own | set(other)) <= max_overlap for other in others)
        if weights[index] > 0 and fits and len(kept) < k:
            kept.append(index)
    return kept


@SOME
@given(maps(), st.data(), st.integers(1, 6), st.sampled_from([0.0, 1 / 3, 0.5, 0.7, 1.0]))
def test_top_areas_are_ordered_by_weight(
    attention: AttentionMap, data: st.DataObject, k: int, max_overlap: float
) -> None:
    layer, head = places(attention, data)
    row = data.draw(st.integers(0, attention.weights.shape[2] - 1))
    weights = chosen(attention, layer, head)[row].tolist()
    expected = heaviest_by_hand(attention, weights, k, max_overlap)
    found = query.top_areas(attention, layer, head, row, k, max_overlap)
    assert [(attention.grid.index(top.area), top.weight) for top in found] == [
        (i, weights[i]) for i in expected
    ]


@SOME
@given(maps(), st.data(), st.sampled_from([0.3, 0.5, 0.9]))
def test_densest_areas_match_item_shares(
    attention: AttentionMap, data: st.DataObject, mass: float
) -> None:
    layer, head = places(attention, data)
    shares_QN = query.item_shares(attention, layer, head)
    for found, shares_N in zip(
        query.densest_areas(attention, layer, head, mass), shares_QN, strict=True
    ):
        if found is None:
            assert not shares_N.any()
        else:
            held = shares_N[items_of(found.area, attention.grid)].sum()
            assert held == pytest.approx(found.weight, abs=1e-5) and held >= mass - 1e-5


def test_smallest_shown_area_follows_focus_and_grid() -> None:
    several, any_size = Focus("encoder-decoder", areas="several"), Focus("encoder-decoder")
    assert query.find_smallest_area_size(two_spans(), several) == 2
    assert query.find_smallest_area_size(two_spans(), any_size) == 1
    single = fakes.trace(area_size=1).maps["encoder-decoder"]
    assert query.find_smallest_area_size(single, several) == 1


@SOME
@given(maps(), st.data(), st.integers(1, 4))
def test_top_queries_are_largest_in_coverage_column(
    attention: AttentionMap, data: st.DataObject, k: int
) -> None:
    layer, head = places(attention, data)
    item = data.draw(st.integers(0, attention.grid.items - 1))
    column = query.coverage(attention, layer, head)[:, item]
    found = query.top_queries(attention, layer, head, item, k)
    assert len(found) == min(k, np.count_nonzero(column))
    np.testing.assert_allclose(
        [top.weight for top in found], np.sort(column)[::-1][: len(found)], atol=1e-6
    )
    np.testing.assert_allclose(
        [column[top.query] for top in found], [top.weight for top in found], atol=1e-6
    )


@SOME
@given(maps(), st.data())
def test_area_size_shares_weigh_every_size(attention: AttentionMap, data: st.DataObject) -> None:
    layer, head = places(attention, data)
    totals = dict.fromkeys(sorted({area.size for area in areas_of(attention.grid)}), 0.0)
    for area, weight in zip(
        areas_of(attention.grid), chosen(attention, layer, head).sum(0), strict=True
    ):
        totals[area.size] += float(weight)
    everything = sum(totals.values()) or 1.0
    shares = query.area_size_shares(attention, layer, head)
    assert list(shares) == list(totals)
    assert shares == pytest.approx(
        {size: total / everything for size, total in totals.items()}, abs=1e-5
    )


def summary_by_hand(attention: AttentionMap, layer: int, head: int) -> list[float]:
    """Compute entropy, area size, distance and peak, one query and one area at a time."""
    grid, figures = attention.grid, []
    for position, row in enumerate(attention.weights[layer, head].tolist()):
        if not any(row):
            continue
        here = divmod(position, grid.width)
        size = distance = 0.0
        for area, weight in zip(areas_of(grid), row, strict=True):
            middle = (area.top + (area.height - 1) / 2, area.left + (area.width - 1) / 2)
            size += weight * area.size
            distance += weight * math.dist(here, middle)
        figures.append([-sum(p * math.log2(p) for p in row if p > 0), size, distance, max(row)])
    return [sum(column) / len(figures) for column in zip(*figures, strict=True)] or [0.0] * 4


@SOME
@given(maps())
def test_head_summary_averages_over_attending_queries(attention: AttentionMap) -> None:
    summary = query.head_summary(attention)
    found = np.stack([summary.entropy, summary.area_size, summary.distance, summary.peak], -1)
    assert found.dtype == np.float32
    for layer, head in np.ndindex(found.shape[:2]):
        np.testing.assert_allclose(
            found[layer, head], summary_by_hand(attention, layer, head), atol=1e-4
        )


def test_distance_is_defined_only_within_one_text() -> None:
    sites = fakes.trace(source="abcd", target="efgh").maps
    known = {
        site: bool(np.isfinite(query.head_summary(item).distance).all())
        for site, item in sites.items()
    }
    assert known == {"encoder self": True, "decoder self": True, "encoder-decoder": False}


def character_field(text: str) -> Field:
    return fakes.text_field("source", text)


def test_words_of_characters() -> None:
    assert query.find_words(character_field("A  small dog.")) == [
        (0, 1),
        (1, 3),
        (3, 8),
        (8, 9),
        (9, 13),
        (13, 14),
    ]
    assert query.find_words(character_field("")) == [(0, 1)]


def test_words_of_subwords_with_leading_blank() -> None:
    anchors = np.array(
        [(0, 0), (0, 1), (1, 6), (6, 8), (8, 11), (11, 12), (12, 12)], dtype=np.int64
    )
    labels = ("⟨start⟩", "A", "▁puff", "in", "▁is", ".", "⟨end⟩")
    field = Field("history", "text", "A puffin is.", labels, anchors)
    assert query.find_words(field) == [(0, 1), (1, 2), (2, 4), (4, 6), (6, 7)]


def test_words_when_items_share_a_character() -> None:
    anchors = np.array([(0, 1), (0, 1), (0, 1), (1, 2), (2, 3)], dtype=np.int64)
    assert query.find_words(Field("source", "text", "🐧 a", tuple("12345"), anchors)) == [
        (0, 3),
        (3, 4),
        (4, 5),
    ]


@SOME
@given(fields(count=7))
def test_words_contain_every_item_once_without_blanks(field: Field) -> None:
    runs = query.find_words(field)
    assert [item for start, end in runs for item in range(start, end)] == list(range(len(field)))
    for start, end in runs:
        covered = field.raw[field.anchors[start, 0] : field.anchors[end - 1, 1]]
        if end - start > 1 and covered.strip():
            last = field.raw[field.anchors[end - 1, 0] : field.anchors[end - 1, 1]]
            before = covered[: len(covered) - len(last)].lstrip()
            assert not any(character.isspace() for character in before)


def test_merging_items_to_words_known_answer() -> None:
    values = np.array([[1, 2, 3], [3, 4, 5], [5, 6, 7]], dtype=np.float32)
    pairs = [(0, 2), (2, 3)]
    assert query.merge_items(values, memory=pairs).tolist() == [[3, 3], [7, 5], [11, 7]]
    assert query.merge_items(values, queries=pairs).tolist() == [[2, 3, 4], [5, 6, 7]]
    assert query.merge_items(values, pairs, pairs).tolist() == [[5, 4], [11, 7]]
    assert query.merge_items(values, pairs, pairs).dtype == np.float32
    assert values.tolist() == [[1, 2, 3], [3, 4, 5], [5, 6, 7]]


def test_word_shares_sum_to_one() -> None:
    trace = fakes.trace()
    shares = query.item_shares(trace.maps["encoder-decoder"], 0, None)
    source, target = (
        query.find_words(trace.fields["source"]),
        query.find_words(trace.fields["target"]),
    )
    merged = query.merge_items(shares, target, source)
    assert merged.shape == (len(target), len(source))
    np.testing.assert_allclose(merged.sum(-1), 1, atol=1e-5)


def test_predicted_bytes_equal_weight_bytes() -> None:
    attention = fakes.trace().maps["encoder-decoder"]
    layers, heads, queries, _ = attention.weights.shape
    assert query.predict_bytes(layers, heads, queries, attention.grid) == attention.weights.nbytes
    assert query.predict_bytes(6, 8, 4096, AreaGrid(1, 4096, 1, 4)) > 12 * 10**9


def test_divergence_is_zero_to_one_bit() -> None:
    first = np.array([[0.5, 0.5, 0], [1, 0, 0], [1, 0, 0]], np.float32)
    second = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0.5, 0]], np.float32)
    # In the last row the mean is (3/4, 1/4) with 0.8113 bits, and the two rows have 0 and 1 bit.
    np.testing.assert_allclose(
        query.compute_jensen_shannon_divergence(first, second), [0, 1, 0.811278 - 0.5], atol=1e-5
    )
    np.testing.assert_allclose(
        query.compute_jensen_shannon_divergence(second, first),
        query.compute_jensen_shannon_divergence(first, second),
    )


def test_entropy_follows_its_definition() -> None:
    rows = np.array([[0.5, 0.5, 0], [1, 0, 0], [0.25, 0.25, 0.5], [0, 0, 0]], np.float32)
    np.testing.assert_allclose(query.compute_entropy_bits(rows), [1, 0, 1.5, 0])


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 5)),
        elements=st.floats(0, 1, width=32),
    ),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_dependence_is_mutual_information_of_query_and_item(raw_QN: np.ndarray, same: bool) -> None:
    raw_QN = np.repeat(raw_QN[:1], len(raw_QN), 0) if same else raw_QN
    total = raw_QN.sum(-1, keepdims=True)
    shares = np.divide(raw_QN, total, out=np.zeros_like(raw_QN), where=total > 0)
    seen = [row for row in shares if row.any()]
    expected = 0.0
    for row in seen:
        for item, p in enumerate(row):
            mean = sum(float(other[item]) for other in seen) / len(seen)
            if p > 0:
                expected += float(p) / len(seen) * math.log2(float(p) / mean)
    found, most = query.query_dependence(shares)
    assert found == pytest.approx(expected, abs=1e-4)
    assert 0 <= found <= most + 1e-6 or not seen
    if same:
        assert found == pytest.approx(0, abs=1e-4)


def test_dependence_is_full_for_diagonal_zero_for_sink() -> None:
    diagonal, sink = np.eye(8, dtype=np.float32), np.zeros((8, 8), np.float32)
    sink[:, 3] = 1
    assert query.query_dependence(diagonal) == (3.0, 3.0)
    assert query.query_dependence(sink) == (0.0, 0.0)


def test_top_areas_count_a_negative_head_from_the_end() -> None:
    attention = next(iter(fakes.trace().maps.values()))
    last = attention.weights.shape[1] - 1
    expected = query.top_areas(attention, -1, last, 0)
    assert expected and query.top_areas(attention, -1, -1, 0) == expected
