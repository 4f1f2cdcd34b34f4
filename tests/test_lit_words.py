"""Areas that hold the linked word: known answers, long areas, and the diagonal."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.trace.areas import AreaGrid
from areaviz.trace.query import find_words
from areaviz.trace.record import AttentionMap, Field
from tests.lit_words import lit_words


def text(name: str, count: int) -> Field:
    """Return a text of words of one letter, one item each."""
    raw = " ".join("abcdefgh"[:count])
    places = np.array([[2 * n, 2 * n + 1] for n in range(count)])
    return Field(name, "text", raw, tuple("abcdefgh"[:count]), places)


def attending(*areas: tuple[int, int]) -> AttentionMap:
    """Return a map whose query n attends only to the area of `areas[n]`: its left and width."""
    grid = AreaGrid(1, 6, 1, 4)
    weights = np.zeros((1, 1, len(areas), grid.count), np.float32)
    table = grid.table()[:, [1, 3]].tolist()
    for query, area in enumerate(areas):
        weights[0, 0, query, table.index(list(area))] = 1
    return AttentionMap("encoder-decoder", "target", "source", grid, weights)


def test_area_with_the_linked_word_is_right() -> None:
    query, memory = text("target", 3), text("source", 6)
    assert len(find_words(query)) == 3
    found = lit_words(
        attending((4, 2), (0, 1), (2, 1)), 0, 0, query, memory, {(5, 0), (2, 1), (2, 2)}
    )
    # The first and third areas hold their words. On the diagonal, only the second word's does.
    assert (found.words, found.right, found.diagonal) == (3, 2, 1)
    assert found.share == pytest.approx(2 / 3)


def test_area_of_four_words_is_never_right() -> None:
    query, memory = text("target", 1), text("source", 6)
    found = lit_words(attending((0, 4)), 0, 0, query, memory, {(1, 0)})
    assert found.right == 0 and found.diagonal == 0


def test_no_links_are_refused() -> None:
    with pytest.raises(ValueError, match="no links"):
        lit_words(attending((0, 1)), 0, 0, text("target", 1), text("source", 6), set())
