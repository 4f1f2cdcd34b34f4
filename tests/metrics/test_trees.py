"""Scores of trees, and of what opening brackets attend to.

They are computed by hand and by a slow version that goes through every area.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from areaviz.measures.references import (
    Opening,
    count_span_hits,
    list_openings,
    make_flat_tree,
    score_brackets,
)
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.kinds import read_tree
from areaviz.trace.record import AttentionMap, Field
from tests import fakes

GOLD = "(S (NP XX XX )NP (VP XX )VP )S"
"""A tree of three brackets and three words."""


@pytest.mark.parametrize(
    ("written", "right", "made", "exact", "malformed", "unbalanced"),
    [
        (GOLD, 3, 3, 1, 0, 0),
        ("(S (NP XX XX )NP (ADJP XX )ADJP )S", 2, 3, 0, 0, 0),
        ("(S (NP XX XX )NP XX )S", 2, 2, 0, 0, 0),
        ("(S (NP XX )NP (VP XX XX )VP )S", 1, 3, 0, 0, 0),
        # A node without words does not count as a bracket, but the tree is not an exact match.
        ("(S (NP XX XX )NP (VP XX )VP (PP )PP )S", 3, 3, 0, 0, 0),
        # In a broken tree, the brackets that were closed before the error count.
        ("(S (NP XX XX )NP (VP XX )NP )S", 1, 1, 0, 1, 1),
        ("(S (NP XX XX )NP (VP XX )VP", 2, 2, 0, 1, 1),
        # These trees are complete, but have another number of words.
        ("(S (NP XX XX )NP (VP XX XX )VP )S", 1, 3, 0, 1, 0),
        ("(S (NP XX XX )NP )S", 1, 2, 0, 1, 0),
        ("", 0, 0, 0, 1, 1),
        ("dog", 0, 0, 0, 1, 1),
    ],
)
def test_scores_of_one_tree(
    written: str, right: int, made: int, exact: int, malformed: int, unbalanced: int
) -> None:
    scores = score_brackets([written], [GOLD])
    assert asdict(scores) == pytest.approx(
        {
            "precision": right / made if made else 0,
            "recall": right / 3,
            "f1": 2 * right / (made + 3),
            "exact": exact,
            "malformed": malformed,
            "unbalanced": unbalanced,
        }
    )


def test_brackets_of_all_sentences_are_pooled() -> None:
    """In F1 a long sentence counts more than a short one. In the shares they count equally."""
    gold = [GOLD, "(S XX )S", "(S XX XX )S"]
    scores = score_brackets([GOLD, "(S XX )NP", "(S (NP XX )NP XX )S"], gold)
    assert scores.precision == pytest.approx(4 / 5) and scores.recall == pytest.approx(4 / 5)
    assert scores.exact == scores.malformed == scores.unbalanced == pytest.approx(1 / 3)


def test_duplicate_bracket_is_right_once() -> None:
    twice, once = "(S (S XX )S )S", "(S XX )S"
    scores = score_brackets([twice], [once])
    assert (scores.precision, scores.recall) == (0.5, 1.0)
    scores = score_brackets([once], [twice])
    assert (scores.precision, scores.recall) == (1.0, 0.5)


def test_every_sentence_needs_a_tree() -> None:
    with pytest.raises(ValueError, match="argument"):
        score_brackets([GOLD], [GOLD, GOLD])


def test_flat_tree_has_one_bracket_around_all_words() -> None:
    assert make_flat_tree(3) == "(S XX XX XX )S" and make_flat_tree(1, "NP") == "(NP XX )NP"
    assert read_tree(make_flat_tree(7).split()).is_of(7)
    # The flat tree contains only the outermost gold bracket.
    assert score_brackets([make_flat_tree(3)], [GOLD]).f1 == pytest.approx(0.5)


def sentence() -> Field:
    """Return the words "Ida", "paints", "boats" and "." as eight items.

    The items are Ida, pa, int, s, boat, s, the full stop and the end symbol.
    """
    raw = "Ida paints boats ."
    places = [(0, 3), (4, 6), (6, 9), (9, 10), (11, 15), (15, 16), (17, 18), (18, 18)]
    labels = (*(raw[start:end] for start, end in places[:-1]), "⟨end⟩")
    return Field("source", "text", raw, labels, np.array(places))


TREE = "(S (NP XX )NP (VP XX (NP XX )NP )VP XX )S"


@pytest.mark.parametrize("most", [2, 3, 5, 6, 7, 20])
def test_openings_span_at_least_two_items(most: int) -> None:
    # The first noun phrase has a single item.
    whole, verb, noun = Opening(0, 0, 7), Opening(4, 1, 6), Opening(6, 4, 6)
    assert [one.size for one in (whole, verb, noun)] == [7, 5, 2]
    expected = [one for one in (whole, verb, noun) if one.size <= most]
    assert list_openings(TREE, sentence(), most) == expected


def test_openings_lie_in_the_sentence() -> None:
    longer = "(S (NP XX XX XX XX XX )NP (VP )VP (NP XX )NP )S"
    assert list_openings(longer, sentence(), 20) == []
    half = "(S (NP XX )NP (VP XX XX"
    assert list_openings(half, sentence(), 20) == [Opening(0, 0, 6), Opening(4, 1, 6)]


def map_of(rows: dict[int, list[Area]], queries: int = 5) -> AttentionMap:
    """Return a map over seven items with the given top areas, as token -> area of each head.

    Another area has some weight, and another layer attends to another area.
    """
    grid = AreaGrid(1, 7, 1, 3)
    heads = len(next(iter(rows.values())))
    weights = np.zeros((2, heads, queries, grid.count), np.float32)
    weights[0, ..., grid.index(Area(0, 0, 1, 1))] = 1.0
    weights[1, ..., grid.index(Area(0, 6, 1, 1))] = 0.4
    for token, areas in rows.items():
        for head, area in enumerate(areas):
            weights[1, head, token, grid.index(area)] = 0.6
    return AttentionMap("encoder-decoder", "target", "source", grid, weights)


def test_hits_by_hand() -> None:
    """There are five heads, for two openings.

    In order, their areas are right, those of the other opening, elsewhere, twice those of the first
    opening, and too small.
    """
    first, second = Area(0, 2, 1, 3), Area(0, 0, 1, 2)
    places = {
        1: [first, second, Area(0, 1, 1, 3), first, Area(0, 2, 1, 2)],
        3: [second, first, Area(0, 4, 1, 2), first, Area(0, 0, 1, 1)],
    }
    hits = count_span_hits(map_of(places), [Opening(1, 2, 5), Opening(3, 0, 2)])
    assert hits.openings == 2
    # There are five spans of three items and six of two.
    three, two = 1 / 5, 1 / 6
    np.testing.assert_allclose(hits.exact_H, [2, 0, 0, 1, 0])
    np.testing.assert_allclose(hits.random_H, [three + two, 0, three + two, three, 0])
    np.testing.assert_allclose(hits.other_H, [0, 2, 0, 1, 0])
    assert hits.compute_head_shares(3) == pytest.approx(
        {"span": 0.5, "span_random": three / 2, "span_other": 0.5}
    )


def test_hits_of_several_sentences_add_up() -> None:
    one = count_span_hits(map_of({0: [Area(0, 2, 1, 3)]}), [Opening(0, 2, 5)])
    two = count_span_hits(map_of({0: [Area(0, 1, 1, 3)]}), [Opening(0, 2, 5)])
    both = one + two
    assert both.openings == 2
    assert both.compute_head_shares(0) == pytest.approx(
        {"span": 0.5, "span_random": 0.2, "span_other": 0.0}
    )


def test_sentence_without_openings_adds_nothing() -> None:
    none = count_span_hits(map_of({0: [Area(0, 2, 1, 3)] * 2}), [])
    assert none.openings == 0 and none.exact_H.tolist() == [0, 0]
    assert none.compute_head_shares(1) == {"span": 0, "span_random": 0, "span_other": 0}


@pytest.mark.parametrize("heads", [1, 2])
def test_hits_of_unlike_models_do_not_add_up(heads: int) -> None:
    opening = [Opening(0, 2, 5)]
    one = count_span_hits(map_of({0: [Area(0, 2, 1, 3)] * heads}), opening)
    other = count_span_hits(map_of({0: [Area(0, 2, 1, 3)] * 3}), opening)
    with pytest.raises(ValueError):
        one + other


def slow_hits(attention: AttentionMap, openings: list[Opening], head: int) -> list[float]:
    """Return the exact, random and other hits of one head, area by area."""
    areas = [attention.grid.area(index) for index in range(attention.grid.count)]
    tops = []
    for one in openings:
        weights_A = attention.weights[-1, head, one.token].tolist()
        tops.append(areas[weights_A.index(max(weights_A))])

    def right(area: Area, one: Opening) -> bool:
        held = set(range(area.left, area.left + area.width))
        return held == set(range(one.first, one.behind))

    exact = sum(right(top, one) for top, one in zip(tops, openings, strict=True))
    random = other = 0.0
    for number, one in enumerate(openings):
        alike = [right(area, one) for area in areas if area.width == tops[number].width]
        random += sum(alike) / len(alike)
        others = [right(tops[n], one) for n in range(len(openings)) if n != number]
        other += sum(others) / len(others)
    return [exact, random, other]


@pytest.mark.parametrize("seed", range(5))
def test_hits_match_slow_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = AreaGrid(1, 4, 1, 3)
    # Many openings share few areas, so that many are hit.
    weights = rng.random((1, 3, 12, grid.count)).astype(np.float32)
    attention = AttentionMap("encoder-decoder", "target", "source", grid, weights)
    spans = [(0, 2), (1, 3), (2, 4), (0, 3), (1, 4), (0, 2), (2, 4)]
    openings = [Opening(token, *span) for token, span in enumerate(spans)]
    hits = count_span_hits(attention, openings)
    slow = np.array([slow_hits(attention, openings, head) for head in range(3)]).T
    np.testing.assert_allclose([hits.exact_H, hits.random_H, hits.other_H], slow)
    assert slow.any(1).all()


def test_openings_count_characters_as_items() -> None:
    assert list_openings("(S XX (NP XX )NP )S", fakes.text_field("source", "a red"), 9) == [
        Opening(0, 0, 5),
        Opening(2, 2, 5),
    ]
