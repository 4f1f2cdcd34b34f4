"""Spans that contain linked words: known answers, and a slow count of chance."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lab.heads import contains_aligned_word, count_linked_words, find_diagonal_spans
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Output, Trace
from areaviz.trace.request import Request
from tests import fakes

SOURCE, TARGET = "two old men", "zwei alte"
LINKS = {(0, 0), (1, 1)}


def trace(area_of_query: dict[int, tuple[int, int]]) -> Trace:
    """Return one layer and head over letters in which each query attends to one span.

    `area_of_query` gives the start and width of the span.
    """
    fields = {
        name: fakes.text_field(name, text, end="")
        for name, text in (("source", SOURCE), ("target", TARGET))
    }
    grid = AreaGrid(1, len(SOURCE), 1, 4)
    weights = np.zeros((1, 1, len(TARGET), grid.count), np.float32)
    for query, (start, width) in area_of_query.items():
        weights[0, 0, query, grid.slab(1, width)[0] + start] = 1
    attention = AttentionMap("encoder-decoder", "target", "source", grid, weights)
    output = Output("target", np.zeros(len(TARGET), np.float32), ())
    return Trace(Request("a", SOURCE), fields, output, {"encoder-decoder": attention})


def test_known_maps_of_spans_items_and_pairs() -> None:
    """The letters of “zwei” attend to “two”, a part of it, a letter of it, and another word."""
    spans = {0: (0, 3), 1: (2, 2), 2: (1, 1), 3: (5, 1)}
    figures = count_linked_words(trace(spans), {(0, 0)}).figures()
    found = {name: values.item() for name, values in figures.items()}
    assert (found["linked_span_share"], found["span"], found["span_whole"]) == (0.5, 1, 0.5)
    assert (found["single"], found["single_whole"], found["top"]) == (0.5, 0, 0.75)
    assert found["pair"] == 0.75 and found["pair_whole"] == 0


def test_words_without_a_link_do_not_count() -> None:
    counts = count_linked_words(trace({0: (0, 2)}), {(2, 1)})
    assert counts.sums["queries"].item() == len("alte") and counts.sums["spans"].item() == 0
    assert not count_linked_words(trace({}), set()).sums["queries"].any()


@pytest.mark.parametrize("width", [2, 3, 4])
def test_chance_is_that_of_equal_spans_anywhere(width: int) -> None:
    figures = count_linked_words(trace({0: (0, width)}), {(1, 0)}).figures()
    places = [set(range(start, start + width)) for start in range(len(SOURCE) - width + 1)]
    word = {4, 5, 6}
    assert figures["span_random"].item() == pytest.approx(
        np.mean([bool(place & word) for place in places])
    )
    assert figures["span_random_whole"].item() == pytest.approx(
        np.mean([word <= place for place in places])
    )


def test_span_is_right_when_all_items_match() -> None:
    left, end = np.array([0, 3, 6]), np.array([4, 6, 8])
    assert contains_aligned_word(left, end, [(4, 6)], whole=False).tolist() == [False, True, False]
    assert contains_aligned_word(left, end, [(4, 6), (6, 8)], whole=True).tolist() == [
        False,
        True,
        True,
    ]
    assert contains_aligned_word(left, end, [(3, 7)], whole=True).tolist() == [False, False, False]


def test_counts_of_translations_add_up() -> None:
    one = count_linked_words(trace({0: (0, 3)}), LINKS)
    np.testing.assert_array_equal((one + one).sums["queries"], 2 * one.sums["queries"])


def test_diagonal_spans_are_centred_within_the_text() -> None:
    widths = np.array([1, 2, 3])
    assert find_diagonal_spans(widths, 0.5, 10).tolist() == [4, 4, 4]
    assert find_diagonal_spans(widths, 0.25, 8).tolist() == [2, 1, 0]
    assert find_diagonal_spans(widths, 0.0, 10).tolist() == [0, 0, 0]
    assert find_diagonal_spans(widths, 1.0, 10).tolist() == [9, 8, 7]
