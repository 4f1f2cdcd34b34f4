"""The greedy choice of heads: known answers, its end, and the alignment error of mean maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from areaviz.measures.alignment import (
    LinkedMaps,
    bootstrap_interval,
    choose_heads,
    compute_alignment_error,
    count_links,
    count_links_by_position,
)
from areaviz.trace.derived import MOST_HEADS, Choice
from areaviz.trace.record import Field


def test_choice_adds_the_head_that_helps_most_and_ends() -> None:
    def error_of(heads: Sequence[Choice]) -> float:
        wanted = {(1, 0, 1): 0.3, (0, 1, 0): 0.1, (0, 0, 0): 0.004}
        return 0.9 - sum(wanted.get(one, 0.0) for one in heads)

    found = choose_heads(2, 2, error_of)
    # The third head would help by less than half a point.
    assert found.heads == ((1, 0, 1), (0, 1, 0))
    assert found.error == pytest.approx(0.5) and found.error_single == pytest.approx(0.8)


def test_choice_has_at_most_five_heads() -> None:
    assert len(choose_heads(3, 3, lambda heads: 1 - 0.1 * len(heads)).heads) == MOST_HEADS


def test_single_head_can_be_best() -> None:
    assert choose_heads(1, 1, lambda heads: 0.5, steps=(0,)).heads == ((0, 0, 0),)


def text(name: str, words: Sequence[str]) -> Field:
    raw = " ".join(words)
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = [end - len(word) for end, word in zip(ends, words, strict=True)]
    return Field(name, "text", raw, tuple(words), np.stack([starts, ends], 1))


def pair(shift: int, seed: int = 0) -> LinkedMaps:
    """Return two heads: one at random, one that is right `shift` steps later."""
    eye = np.roll(np.eye(4, dtype=np.float32), shift, 0)
    noise = np.random.default_rng(seed).random((4, 4)).astype(np.float32)
    links = frozenset((n, n) for n in range(4))
    query, memory = text("target", list("abcd")), text("source", list("efgh"))
    return LinkedMaps(np.stack([noise, eye])[None], query, memory, links, links)


def test_head_that_is_right_one_step_later_is_found() -> None:
    maps = [pair(1, seed) for seed in range(5)]
    found = choose_heads(1, 2, lambda heads: compute_alignment_error(maps, heads))
    assert found.heads == ((0, 1, 1),)
    # The last word has no later step, so it is the only wrong one.
    assert found.error == pytest.approx(0.25)


def test_interval_contains_error_and_is_point_for_equal_sentences() -> None:
    counts = [pair(0).counts([(0, 1, 0)]) for _ in range(6)]
    assert bootstrap_interval(counts).tolist() == [0.0, 0.0]
    mixed = [count_links({(0, 0)}, {(n % 2, 0)}, set()) for n in range(20)]
    low, high = bootstrap_interval(mixed)
    assert low < 0.5 < high


def test_position_alone_reads_the_next_pair() -> None:
    maps = [pair(0), pair(1)]
    found = count_links_by_position(maps, [(0, 1, 0)])
    assert found[0].error_rate == pytest.approx(1.0)
    assert found[1].error_rate == pytest.approx(0.0)
