"""Greedy decoding, compared with results by hand and with a slow version without batches."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.models.decoding import Hypothesis, greedy_search
from tests.decoding.fake import END, START, FakeStepper, TableStepper, next_log_probabilities

#            start end  a    b
WALK = [
    [0.0, 0.1, 0.7, 0.2],  # start -> a
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.3, 0.1, 0.6],  # a -> b
    [0.0, 0.8, 0.2, 0.0],  # b -> end
]
LOOP = [[0.0, 0.1, 0.9], [0.0, 1.0, 0.0], [0.0, 0.2, 0.8]]


def slow_greedy(sentence: int, vocabulary: int, limit: int) -> Hypothesis:
    """Decode one sentence, one token at a time."""
    ids: list[int] = []
    total = 0.0
    while len(ids) < limit and END not in ids:
        logs = next_log_probabilities(sentence, [START, *ids], vocabulary)
        ids.append(logs.index(max(logs)))
        total += max(logs)
    return Hypothesis(tuple(ids), total, ids[-1] == END)


def test_greedy_walk_by_hand() -> None:
    stepper = TableStepper(WALK)
    (found,) = greedy_search(stepper, START, END, [9])
    assert found.ids == (2, 3, END)
    assert found.finished
    assert found.log_probability == pytest.approx(math.log(0.7 * 0.6 * 0.8))
    assert stepper.steps == 3


def test_loop_is_cut_at_its_limit() -> None:
    stepper = TableStepper(LOOP)
    short, long = greedy_search(stepper, START, END, [1, 4])
    assert (short.ids, short.finished) == ((2,), False)
    assert (long.ids, long.finished) == ((2, 2, 2, 2), False)
    assert short.log_probability == pytest.approx(math.log(0.9))
    assert long.log_probability == pytest.approx(math.log(0.9 * 0.8**3))
    assert stepper.steps == 4


def test_end_symbol_may_be_last_allowed_token() -> None:
    (found,) = greedy_search(TableStepper(WALK), START, END, [3])
    assert found.finished


def test_no_sentences_need_no_steps() -> None:
    stepper = TableStepper(WALK)
    assert greedy_search(stepper, START, END, []) == []
    assert stepper.steps == 0


def test_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 token, got 0"):
        greedy_search(TableStepper(WALK), START, END, [3, 0])


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(1, 6)), min_size=1, max_size=5),
    st.integers(2, 5),
)
def test_batch_equals_single_sentences(sentences: list[tuple[int, int]], vocabulary: int) -> None:
    stepper = FakeStepper([sentence for sentence, _ in sentences], vocabulary)
    found = greedy_search(stepper, START, END, [limit for _, limit in sentences])
    for hypothesis, (sentence, limit) in zip(found, sentences, strict=True):
        expected = slow_greedy(sentence, vocabulary, limit)
        assert hypothesis.ids == expected.ids
        assert hypothesis.finished == expected.finished
        assert hypothesis.log_probability == pytest.approx(expected.log_probability)
    assert stepper.steps == max(len(hypothesis.ids) for hypothesis in found)
