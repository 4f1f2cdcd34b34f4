"""Words with known places: known answers, later steps, examples of other lengths, and baselines."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.measures.alignment import choose_heads
from areaviz.measures.pointing import PointedWords, bootstrap_hit_interval


def example(items: int, place: int, shift: int = 0) -> PointedWords:
    """Return two words at one place; head 2 points there `shift` steps late, head 1 at item 1."""
    weights = np.zeros((1, 2, 3, items), np.float32)
    weights[0, 0, :, 0] = 0.6
    weights[0, 1, shift:, place] = 1.0
    right = np.zeros((2, items), bool)
    right[:, place] = True
    return PointedWords.of(weights, (0, 1), right)


def test_heads_point_right_at_their_step() -> None:
    words = PointedWords.joined([example(4, 2, shift=1), example(3, 1, shift=1)])
    assert words.shape == (1, 2) and len(words) == 4
    assert words.examples.tolist() == [0, 0, 1, 1]
    assert words.tops([(0, 1, 1)]).tolist() == [2, 2, 1, 1]
    assert words.hits([(0, 1, 1)]).all()
    # At its own step, the first word of each example has no attention.
    assert words.hits([(0, 1, 0)]).tolist() == [False, True, False, True]
    assert words.error([(0, 0, 0)]) == 1.0
    assert choose_heads(*words.shape, words.error).heads == ((0, 1, 1),)


def test_mean_of_heads_equals_their_drawn_map() -> None:
    words = PointedWords.joined([example(4, 2)])
    # 0.6 of head 1 and 1.0 of head 2: the mean map is heaviest at the place of head 2.
    assert words.tops([(0, 0, 0), (0, 1, 0)]).tolist() == [2, 2]


def test_blind_reader_points_at_one_place() -> None:
    words = PointedWords.joined([example(4, 2), example(4, 2), example(4, 1)])
    assert words.blind([(0, 1, 0)]) == pytest.approx(2 / 3)


def test_interval_contains_share_and_is_point_for_equal_examples() -> None:
    numbers = np.repeat(np.arange(30), 2)
    assert bootstrap_hit_interval(np.ones(60, bool), numbers) == (1.0, 1.0)
    low, high = bootstrap_hit_interval(np.arange(60) % 4 < 2, numbers)
    assert 0.2 < low < 0.5 < high < 0.8


def test_examples_without_words_are_refused() -> None:
    empty = PointedWords.of(np.zeros((1, 1, 2, 3), np.float32), (), np.zeros((0, 3), bool))
    with pytest.raises(ValueError, match="no words"):
        PointedWords.joined([empty])
