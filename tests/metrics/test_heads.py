"""Statistics of heads: known answers for heads made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.measures.heads import MOST_OFFSET, count_heads, count_over_heads
from areaviz.trace.areas import AreaGrid
from areaviz.trace.query import find_words
from areaviz.trace.record import AttentionMap, Field
from tests import fakes

TEXT = "the dog ran"


def field(name: str = "source") -> Field:
    anchors = np.array([(i, i + 1) for i in range(len(TEXT))])
    return Field(name, "text", TEXT, tuple(TEXT), anchors)


def attention(area_of_query: dict[int, tuple[int, int]], memory: str = "source") -> AttentionMap:
    """Return one layer and head in which each query attends to one span (start, width)."""
    grid = AreaGrid(1, len(TEXT), 1, 4)
    weights = np.zeros((1, 1, len(TEXT), grid.count), np.float32)
    for query, (start, width) in area_of_query.items():
        weights[0, 0, query, grid.slab(1, width)[0] + start] = 1
    return AttentionMap("site", "source", memory, grid, weights)


def test_previous_item_head_is_recognised() -> None:
    figures = count_over_heads(
        attention({q: (q - 1, 1) for q in range(1, len(TEXT))}), field()
    ).figures()
    assert (
        figures["previous"].item() == 1
        and figures["offset"].item() == -1
        and figures["offset_share"].item() == 1
    )
    assert figures["multi_share"].item() == 0 and np.isnan(figures["long_exact"].item())
    assert figures["dependence_share"].item() == pytest.approx(1)


def test_previous_item_of_history_has_the_query_index() -> None:
    counts = count_over_heads(
        attention({q: (q, 1) for q in range(len(TEXT))}, memory="history"), field("history")
    )
    assert counts.figures()["previous"].item() == 1


def test_word_spans_and_other_spans_are_counted() -> None:
    runs = {
        q: (start, end - start)
        for q, (start, end) in enumerate(find_words(field()))
        if end - start > 1
    }
    figures = count_over_heads(attention(runs), field()).figures()
    assert len(runs) == 3
    assert figures["multi_share"].item() == 1 and figures["long_exact"].item() == 1
    assert figures["long_edge"].item() == 1
    # Of the nine spans of three letters, three are words.
    assert figures["long_exact_random"].item() == pytest.approx(3 / 9)
    assert figures["long_exact_lift"].item() == pytest.approx(3)


def test_history_chance_uses_only_written_items() -> None:
    """Query 3 sees four letters. Of the two spans of three letters, one is a word."""
    counts = count_over_heads(attention({3: (0, 3)}, memory="history"), field("history"))
    assert counts.figures()["long_exact_random"].item() == pytest.approx(1 / 2)


def test_sink_is_the_share_of_one_item() -> None:
    figures = count_over_heads(attention({q: (4, 1) for q in range(6)}), field()).figures()
    assert figures["sink"].item() == 1 and figures["dependence"].item() == 0


def test_far_offsets_are_omitted_and_counts_add_up() -> None:
    grid = AreaGrid(1, 40, 1, 1)
    weights = np.zeros((1, 1, 40, 40), np.float32)
    weights[0, 0, :, 0] = 1
    long = AttentionMap("site", "source", "source", grid, weights)
    memory = Field(
        "source", "text", "x" * 40, tuple("x" * 40), np.array([(i, i + 1) for i in range(40)])
    )
    once = count_over_heads(long, memory)
    assert once.sums["offsets"].sum() == MOST_OFFSET + 1
    twice = once + once
    np.testing.assert_allclose(twice.figures()["offset_share"], once.figures()["offset_share"])
    assert twice.sums["examples"].item() == 2


def test_every_site_of_a_trace_is_counted() -> None:
    trace = fakes.trace()
    found = count_heads([trace, trace])
    assert set(found) == set(trace.maps)
    for site, counts in found.items():
        shape = trace.maps[site].weights.shape[:2]
        assert all(values.shape == shape for values in counts.figures().values())
