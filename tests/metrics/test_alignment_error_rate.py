"""Alignment error rate on cases computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.measures.alignment import (
    LinkCounts,
    Links,
    count_links,
    find_attention_links,
    find_strongest_links,
)
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.record import AttentionMap, Output, Trace
from areaviz.trace.request import Request
from tests import fakes

LINKS = st.frozensets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5)
SURE = frozenset({(0, 0), (1, 1)})
POSSIBLE = frozenset({(1, 2), (2, 2)})


def test_aer_measures_by_hand() -> None:
    counts = count_links(frozenset({(0, 0), (1, 2), (2, 1)}), SURE, POSSIBLE)
    assert counts == LinkCounts(made=3, sure=2, made_sure=1, made_possible=2)
    assert counts.precision == pytest.approx(2 / 3)
    assert counts.recall == pytest.approx(1 / 2)
    assert counts.error_rate == pytest.approx(1 - 3 / 5)


def test_sentences_are_pooled_not_averaged() -> None:
    perfect = count_links(SURE, SURE, POSSIBLE)
    wrong = count_links(frozenset({(4, 4)}), frozenset({(3, 3)}), frozenset())
    assert perfect.error_rate == 0
    assert wrong.error_rate == 1
    assert (perfect + wrong).error_rate == pytest.approx(1 - 4 / 6)


def test_measures_without_links_are_undefined() -> None:
    empty = count_links(frozenset(), frozenset(), POSSIBLE)
    assert all(math.isnan(value) for value in (empty.precision, empty.recall, empty.error_rate))


@settings(deadline=None, max_examples=30)
@given(LINKS, LINKS, LINKS)
def test_sure_and_possible_links_make_no_error(sure: Links, possible: Links, some: Links) -> None:
    counts = count_links(sure | (possible & some), sure, possible)
    assert counts.made == 0 or counts.error_rate == 0


@settings(deadline=None, max_examples=30)
@given(LINKS, LINKS, LINKS)
def test_measures_are_between_zero_and_one(made: Links, sure: Links, possible: Links) -> None:
    counts = count_links(made, sure, possible)
    for value in (counts.precision, counts.recall, counts.error_rate):
        assert math.isnan(value) or 0 <= value <= 1


def test_either_side_can_choose_links() -> None:
    attention_TS = np.array([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1]], dtype=np.float32)
    assert find_strongest_links(attention_TS) == {(0, 0), (0, 1)}
    assert find_strongest_links(attention_TS, choosing="source") == {(0, 1), (1, 0), (2, 0)}


def test_words_without_attention_get_no_link() -> None:
    attention_TS = np.array([[0.0, 0.0], [0.0, 0.5]], dtype=np.float32)
    assert find_strongest_links(attention_TS) == {(1, 1)}
    assert find_strongest_links(attention_TS, choosing="source") == {(1, 1)}
    assert find_strongest_links(np.zeros((0, 2), dtype=np.float32)) == frozenset()


def reversed_translation() -> Trace:
    """Return a translation of "big dog" as "xy z".

    The character x attends to "dog", y mostly to a letter of "big", and z to "big". The space and
    the end symbol attend to the end symbol.
    """
    source, target = fakes.text_field("source", "big dog"), fakes.text_field("target", "xy z")
    grid = AreaGrid(1, len(source), 1, 3)
    big, dog, letter, end = Area(0, 0, 1, 3), Area(0, 4, 1, 3), Area(0, 1, 1, 1), Area(0, 7, 1, 1)
    attended = [{dog: 1.0}, {letter: 0.6, end: 0.4}, {end: 1.0}, {big: 1.0}, {end: 1.0}]
    weights = np.zeros((1, 2, len(target), grid.count), dtype=np.float32)
    for query, areas in enumerate(attended):
        for area, weight in areas.items():
            weights[0, 0, query, grid.index(area)] = weight
        weights[0, 1, query, grid.index(dog)] = 1
    attention = AttentionMap("encoder-decoder", "target", "source", grid, weights)
    output = Output("target", np.ones(len(target), dtype=np.float32), ((),) * len(target))
    fields = {"source": source, "target": target}
    return Trace(Request("fake", "big dog"), fields, output, {attention.site: attention})


def test_attention_sums_source_items_averages_target_items() -> None:
    # Together x and y give 1/2 to "dog" and 0.6/2 to "big". The first target word is therefore
    # linked to the second source word.
    assert find_attention_links(reversed_translation(), layer=0, head=0) == {(1, 0), (0, 1)}


def test_heads_are_averaged_by_default() -> None:
    trace = reversed_translation()
    assert find_attention_links(trace, layer=0, head=1) == {(1, 0), (1, 1)}
    assert find_attention_links(trace, layer=0, choosing="source") == {(0, 1), (1, 0)}
