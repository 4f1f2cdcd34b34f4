"""Word-span metrics on a case computed by hand, and compared with a slow loop over areas."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from statistics import fmean as mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.measures.spans import MEASURES, compute_weighted_purity, count_spans, measure_spans
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Field, Trace
from tests import fakes

TEXTS = st.text("ab ", min_size=1, max_size=9)


def hand_map() -> tuple[AttentionMap, Field]:
    """Return two queries over the items a, b, space, c, end.

    The first query attends to "ab" and "c", the second to areas around "c".
    """
    grid = AreaGrid(1, 5, 1, 2)
    weights = np.zeros((1, 1, 2, grid.count), dtype=np.float32)
    given_weights = [
        (0, (0, 2), 0.6),
        (0, (3, 1), 0.4),
        (1, (3, 1), 0.5),
        (1, (2, 2), 0.3),
        (1, (4, 1), 0.2),
    ]
    for query, (left, width), weight in given_weights:
        weights[0, 0, query, grid.index(Area(0, left, 1, width))] = weight
    return AttentionMap("encoder-decoder", "target", "source", grid, weights), fakes.text_field(
        "source", "ab c"
    )


# Of the 5 single-item areas, 3 are in a word and 1 is a word. Of the 4 two-item areas, 1 is a word
# and 3 contain one.
HAND_FIGURES = {
    "queries": 2,
    "multi_share": 1 / 2,
    "purity": 1,
    "cover": 1,
    "exact": 1,
    "purity_random": (1 / 4 + 3 / 5) / 2,
    "cover_random": (3 / 4 + 1 / 5) / 2,
    "exact_random": (1 / 4 + 1 / 5) / 2,
    # The top two-item areas are "ab" and " c". The latter is second to "c".
    "multi_purity": 1 / 2,
    "multi_cover": 1,
    "multi_purity_random": 1 / 4,
    "multi_purity_lift": 2,
    "multi_cover_lift": 4 / 3,
    "multi_exact_lift": 2,
    # The position of "ab" becomes " c" for the second query. Those of "c" and " c" become "b" and
    # "ab" for the first.
    "multi_purity_position": 1 / 2,
    "multi_cover_position": 1,
    "purity_position": (1 / 2 + 1) / 2,
    "exact_position": (1 / 2 + 1 / 2) / 2,
    "multi_purity_position_lift": 1,
    "weighted_purity": (1 + 0.5) / 2,
    "weighted_cover": (1 + 0.8) / 2,
    "weighted_exact": (1 + 0.5) / 2,
    "weighted_purity_random": ((0.6 / 4 + 0.4 * 3 / 5) + (0.7 * 3 / 5 + 0.3 / 4)) / 2,
    "uniform_purity": 4 / 9,
    "uniform_cover": 4 / 9,
    "uniform_exact": 2 / 9,
    "area_size": (1.6 + 1.3) / 2,
    "uniform_area_size": 13 / 9,
    "entropy": (0.970951 + 1.485475) / 2,
    "entropy_normalised": (0.970951 + 1.485475) / 2 / math.log2(9),
}


def test_word_span_figures_by_hand() -> None:
    figures = count_spans(*hand_map()).figures()
    assert {name: figures[name] for name in HAND_FIGURES} == pytest.approx(HAND_FIGURES, abs=1e-6)


def test_weighted_purity_and_its_chance_equal_their_figures() -> None:
    traces = [fakes.trace(), fakes.trace("Two birds sing.", "Zwei Vögel singen.")]
    maps = [hand_map()]
    for trace in traces:
        maps += [(one, trace.fields[one.memory]) for one in trace.maps.values()]
    for attention, memory in maps:
        attention.weights[0, 0, -1] = 0  # fully masked
        figures = count_spans(attention, memory).figures()
        known = figures["weighted_purity"], figures["weighted_purity_random"]
        assert compute_weighted_purity(attention, memory) == pytest.approx(known)
        blank = replace(attention, weights=0 * attention.weights)
        assert all(map(math.isnan, compute_weighted_purity(blank, memory)))


@lru_cache(1000)
def judge(field: Field, area: Area) -> tuple[bool, bool, bool]:
    """Return purity, cover and exactness of an area, computed from the characters.

    Every item is one character or a symbol.
    """
    anchors = [tuple(anchor) for anchor in field.anchors.tolist()]
    held = set(range(area.left, area.left + area.width))
    words, word = [], set[int]()
    for start, letter in enumerate(field.raw + " "):
        if not letter.isspace():
            word.add(anchors.index((start, start + 1)))
        elif word:
            words.append(word)
            word = set()
    return any(held <= word for word in words), any(word <= held for word in words), held in words


def visible_areas(attention: AttentionMap, query: int, widest: int) -> list[Area]:
    """Return the areas of up to `widest` items that a query can see."""
    items = attention.grid.width if attention.memory != "history" else query + 1
    areas = (attention.grid.area(index) for index in range(attention.grid.count))
    return [area for area in areas if area.width <= widest and area.left + area.width <= items]


def places(attention: AttentionMap, query: int, top: Area, widest: int) -> list[Area]:
    """Return the positions of a query's top area, moved along with every query of the sentence.

    Positions that the query cannot see are left out.
    """
    queries = attention.weights.shape[2]
    along = [math.floor((other + 0.5) * attention.grid.width / queries) for other in range(queries)]
    moved = [replace(top, left=top.left + along[other] - along[query]) for other in range(queries)]
    return [
        area for other, area in enumerate(moved) if area in visible_areas(attention, other, widest)
    ]


def slow_top(
    attention: AttentionMap, memory: Field, query: int, top: Area, widest: int
) -> dict[str, float]:
    """Return each measure for an area, for random positions and for other queries' positions."""
    seen = [area for area in visible_areas(attention, query, widest) if area.width == top.width]
    moved = places(attention, query, top, widest)
    row: dict[str, float] = {}
    for m, name in enumerate(MEASURES):
        row |= {
            name: float(judge(memory, top)[m]),
            f"{name}_random": mean(judge(memory, area)[m] for area in seen),
            f"{name}_position": mean(judge(memory, area)[m] for area in moved),
        }
    return row


def slow_row(
    attention: AttentionMap, memory: Field, head: int, query: int, widest: int
) -> dict[str, float]:
    """Compute the metrics of one query, one area at a time."""
    weights_A, grid = attention.weights[0, head, query], attention.grid
    seen = visible_areas(attention, query, widest)
    attended = [
        (grid.area(int(index)), float(weights_A[index])) for index in np.flatnonzero(weights_A)
    ]
    heaviest = sorted(attended, key=lambda found: -found[1])
    multi = [area for area, _ in heaviest if area.width > 1]
    bits = -sum(weight * math.log2(weight) for _, weight in attended)
    row = {
        "multi_share": float(heaviest[0][0].width > 1),
        "area_size": sum(weight * area.width for area, weight in attended),
        "uniform_area_size": mean(area.width for area in seen),
        "entropy": bits,
        "entropy_normalised": bits / math.log2(len(seen)) if len(seen) > 1 else math.nan,
        **slow_top(attention, memory, query, heaviest[0][0], widest),
    }
    for m, name in enumerate(MEASURES):
        row[f"weighted_{name}"] = sum(weight * judge(memory, area)[m] for area, weight in attended)
        row[f"uniform_{name}"] = mean(judge(memory, area)[m] for area in seen)
    for name, value in (
        slow_top(attention, memory, query, multi[0], widest) if multi else {}
    ).items():
        row[f"multi_{name}"] = value
    return row


def slow_figures(attention: AttentionMap, memory: Field) -> dict[str, float]:
    """Compute the metrics of a one-layer map: means over the queries that have them."""
    used = np.flatnonzero(attention.weights.any((0, 1, 2)))
    widest = max((attention.grid.area(int(index)).width for index in used), default=1)
    shown = np.argwhere(attention.weights[0].any(-1)).tolist()
    rows = [slow_row(attention, memory, head, query, widest) for head, query in shown]
    names = {name for row in rows for name in row}
    return {name: float(np.nanmean([row[name] for row in rows if name in row])) for name in names}


@settings(deadline=None, max_examples=15)
@given(TEXTS, TEXTS, st.integers(1, 3), st.booleans())
def test_figures_equal_the_slow_version(
    source: str, target: str, area_size: int, narrow: bool
) -> None:
    trace = fakes.trace(source, target, layers=1, heads=2, area_size=area_size)
    for attention in trace.maps.values():
        attention.weights[0, 0, -1] = 0  # fully masked
        if narrow:
            attention.weights[..., attention.grid.sizes() > 2] = 0
        memory = trace.fields[attention.memory]
        expected = slow_figures(attention, memory)
        figures = count_spans(attention, memory).figures()
        assert {name: figures.get(name, math.nan) for name in expected} == pytest.approx(
            expected, abs=1e-5, nan_ok=True
        )


@settings(deadline=None, max_examples=15)
@given(TEXTS, st.integers(1, 4))
def test_uniform_attention_has_no_lift(text: str, area_size: int) -> None:
    trace = fakes.trace(text, text, layers=1, heads=1, area_size=area_size)
    for attention in trace.maps.values():
        attention.weights[:] = attention.weights > 0
        attention.weights[:] /= attention.weights.sum(-1, keepdims=True)
        figures = count_spans(attention, trace.fields[attention.memory]).figures()
        assert figures["entropy_normalised"] == pytest.approx(1, abs=1e-5)
        assert figures["area_size"] == pytest.approx(figures["uniform_area_size"], abs=1e-5)
        for name in MEASURES:
            assert figures[f"weighted_{name}"] == pytest.approx(
                figures[f"uniform_{name}"], abs=1e-5
            )
            assert figures.get(f"weighted_{name}_lift", 1) == pytest.approx(1, abs=1e-4)


def test_own_word_head_beats_both_baselines() -> None:
    source = fakes.text_field("source", "red bird", end="")
    grid = AreaGrid(1, 8, 1, 4)
    weights = np.zeros((1, 1, 8, grid.count), dtype=np.float32)
    for query in range(8):
        word = Area(0, 0, 1, 3) if query < 4 else Area(0, 4, 1, 4)
        weights[0, 0, query, grid.index(word)] = 1
    figures = count_spans(
        AttentionMap("encoder self", "source", "source", grid, weights), source
    ).figures()
    assert figures["multi_exact"] == figures["multi_purity"] == 1
    assert figures["multi_purity_random"] == pytest.approx((3 / 6 + 1 / 5) / 2)
    assert figures["multi_purity_position_lift"] > 1.5


def test_undefined_figures_are_omitted() -> None:
    figures = measure_spans([fakes.trace(area_size=1)])["encoder self"]
    assert figures["multi_share"] == 0
    assert not any(name.startswith("multi_") for name in figures if name != "multi_share")
    assert all(math.isfinite(value) for value in figures.values())


def test_text_of_blanks_has_no_words() -> None:
    figures = measure_spans([fakes.trace("   ", "Ein Hund.")])["encoder self"]
    assert figures["purity"] == figures["uniform_purity"] == 0
    assert "purity_lift" not in figures


def test_counts_of_traces_give_mean_over_queries() -> None:
    traces = [fakes.trace(), fakes.trace("Two birds sing.", "Zwei Vögel singen.")]
    together = measure_spans(iter(traces))
    assert set(together) == {"encoder self", "decoder self", "encoder-decoder"}
    for site, figures in together.items():
        apart = [measure_spans([trace])[site] for trace in traces]
        assert figures["queries"] == sum(each["queries"] for each in apart)
        weighted = sum(each["purity"] * each["queries"] for each in apart)
        assert figures["purity"] == pytest.approx(weighted / figures["queries"])


def test_memories_that_are_not_text_are_omitted() -> None:
    trace = fakes.trace()
    picture = replace(trace.fields["source"], kind="image")
    pictured = Trace(trace.request, {**trace.fields, "source": picture}, trace.output, trace.maps)
    assert set(measure_spans([pictured])) == {"decoder self"}


def test_no_traces_give_no_figures() -> None:
    assert measure_spans([]) == {}


def test_counts_of_different_model_shapes_do_not_add() -> None:
    with pytest.raises(ValueError, match="Only counts of one model"):
        measure_spans([fakes.trace(), fakes.trace(layers=1, heads=2)])
