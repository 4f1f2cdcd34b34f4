"""Beam search compared with exhaustive search, greedy decoding and a slow version.

The slow version never stops early.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.models.decoding import (
    Hypothesis,
    beam_search,
    compute_length_penalty,
    greedy_search,
    search_by_alpha,
)
from tests.decoding.fake import END, START, FakeStepper, TableStepper, next_log_probabilities

SENTENCES = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 5)), min_size=1, max_size=4)
ALPHAS = st.sampled_from([0.0, 0.6, 1.0, 2.5])

# The tokens are start, end, a, b. Token a looks best at first, but b leads to the better sentence.
TRAP = [
    [0.0, 0.0, 0.6, 0.4],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.4, 0.3, 0.3],
    [0.0, 0.9, 0.1, 0.0],
]


def log_probability(sentence: int, ids: tuple[int, ...], vocabulary: int) -> float:
    """Return the log-probability of a whole sequence, token by token."""
    steps = (
        next_log_probabilities(sentence, [START, *ids[:n]], vocabulary)[ids[n]]
        for n in range(len(ids))
    )
    return sum(steps)


def every_hypothesis(
    sentence: int, vocabulary: int, limit: int, ids: tuple[int, ...] = ()
) -> Iterator[Hypothesis]:
    """Yield all possible sequences of a sentence."""
    for token in range(vocabulary):
        grown = (*ids, token)
        total = log_probability(sentence, grown, vocabulary)
        if total == -math.inf:
            continue
        if token == END or len(grown) == limit:
            yield Hypothesis(grown, total, token == END)
        else:
            yield from every_hypothesis(sentence, vocabulary, limit, grown)


def ranked(hypotheses: list[Hypothesis], alpha: float) -> list[Hypothesis]:
    """Sort hypotheses: finished ones first, then by score."""
    return sorted(
        hypotheses,
        key=lambda each: (
            each.finished,
            each.log_probability / compute_length_penalty(len(each.ids), alpha),
        ),
        reverse=True,
    )


def slow_beam(
    sentence: int, vocabulary: int, limit: int, width: int, alpha: float
) -> list[Hypothesis]:
    """Search as the docstring of `beam_search` describes it, always up to the limit."""
    alive: list[tuple[int, ...]] = [()]
    found: list[Hypothesis] = []
    for length in range(1, limit + 1):
        scored = [
            (log_probability(sentence, (*ids, token), vocabulary), (*ids, token))
            for ids in alive
            for token in range(vocabulary)
        ]
        best = sorted((each for each in scored if each[0] > -math.inf), reverse=True)[:width]
        alive = [ids for _, ids in best if ids[-1] != END]
        found += [
            Hypothesis(ids, total, ids[-1] == END)
            for total, ids in best
            if ids[-1] == END or length == limit
        ]
    return ranked(found, alpha)[:width]


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [each.ids for each in found] == [each.ids for each in expected]
    assert [each.finished for each in found] == [each.finished for each in expected]
    totals = [each.log_probability for each in expected]
    assert [each.log_probability for each in found] == pytest.approx(totals)


def test_length_penalty_follows_wu_et_al() -> None:
    assert compute_length_penalty(1, 0.6) == 1.0
    assert compute_length_penalty(7, 1.0) == 2.0
    assert compute_length_penalty(19, 0.5) == 2.0
    assert compute_length_penalty(40, 0.0) == 1.0


def test_beam_search_beats_greedy() -> None:
    (first,) = greedy_search(TableStepper(TRAP), START, END, [5])
    (found,) = beam_search(TableStepper(TRAP), START, END, [5], width=2, alpha=0.0)
    assert first.ids == (2, END)
    assert_same(
        found,
        [Hypothesis((3, END), math.log(0.36), True), Hypothesis((2, END), math.log(0.24), True)],
    )


def test_search_stops_when_no_open_hypothesis_can_win() -> None:
    stepper = TableStepper(TRAP)
    beam_search(stepper, START, END, [50], width=2, alpha=0.0)
    assert stepper.steps == 2


def test_strong_penalty_continues_the_search() -> None:
    table = [[0.0, 0.45, 0.55], [0.0, 1.0, 0.0], [0.0, 0.05, 0.95]]
    ((short, *_),) = beam_search(TableStepper(table), START, END, [12], width=3, alpha=0.0)
    ((long, *_),) = beam_search(TableStepper(table), START, END, [12], width=3, alpha=3.0)
    assert len(short.ids) == 1
    assert len(long.ids) == 12


def test_hypotheses_cut_at_the_limit_come_last() -> None:
    loop = [[0.0, 0.01, 0.99], [0.0, 1.0, 0.0], [0.0, 0.01, 0.99]]
    (found,) = beam_search(TableStepper(loop), START, END, [3], width=2, alpha=0.0)
    assert [each.ids for each in found] == [(END,), (2, END)]
    (found,) = beam_search(TableStepper(loop), START, END, [1], width=2, alpha=0.0)
    assert [(each.ids, each.finished) for each in found] == [((END,), True), ((2,), False)]


def test_impossible_continuations_never_fill_the_beam() -> None:
    only_one = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    (found,) = beam_search(TableStepper(only_one), START, END, [5], width=8)
    assert found == [Hypothesis((2, END), 0.0, True)]


@pytest.mark.parametrize(
    ("limits", "width", "alpha"),
    [([0], 4, 0.6), ([3], 0, 0.6), ([3], 4, -0.1)],
    ids=["limit", "width", "alpha"],
)
def test_options_out_of_range_are_refused(limits: list[int], width: int, alpha: float) -> None:
    with pytest.raises(ValueError, match="at least"):
        beam_search(TableStepper(TRAP), START, END, limits, width, alpha)


def test_no_sentences_need_no_steps() -> None:
    stepper = TableStepper(TRAP)
    assert beam_search(stepper, START, END, []) == []
    assert stepper.steps == 0


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), st.integers(2, 3), st.integers(1, 4), ALPHAS)
def test_wide_beam_finds_the_true_best(
    sentence: int, vocabulary: int, limit: int, alpha: float
) -> None:
    width = vocabulary**limit
    (found,) = beam_search(
        FakeStepper([sentence], vocabulary, width), START, END, [limit], width, alpha
    )
    assert_same(found, ranked(list(every_hypothesis(sentence, vocabulary, limit)), alpha))


@settings(deadline=None, max_examples=30)
@given(SENTENCES, st.integers(2, 5), st.integers(1, 4), ALPHAS)
def test_batched_search_equals_slow_search(
    sentences: list[tuple[int, int]], vocabulary: int, width: int, alpha: float
) -> None:
    stepper = FakeStepper([sentence for sentence, _ in sentences], vocabulary, width)
    found = beam_search(stepper, START, END, [limit for _, limit in sentences], width, alpha)
    for hypotheses, (sentence, limit) in zip(found, sentences, strict=True):
        assert_same(hypotheses, slow_beam(sentence, vocabulary, limit, width, alpha))


@settings(deadline=None, max_examples=30)
@given(SENTENCES, st.integers(2, 5), ALPHAS)
def test_beam_of_one_equals_greedy(
    sentences: list[tuple[int, int]], vocabulary: int, alpha: float
) -> None:
    numbers, limits = [sentence for sentence, _ in sentences], [limit for _, limit in sentences]
    stepper = FakeStepper(numbers, vocabulary)
    beams = beam_search(stepper, START, END, limits, width=1, alpha=alpha)
    assert [
        [each] for each in greedy_search(FakeStepper(numbers, vocabulary), START, END, limits)
    ] == beams
    assert stepper.selections == 0


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(1, 3))
def test_shared_search_equals_separate_search_per_penalty(
    sentences: list[tuple[int, int]], width: int
) -> None:
    numbers, limits = (list(one) for one in zip(*sentences, strict=True))
    alphas = (0.0, 0.6, 2.5)
    together = search_by_alpha(FakeStepper(numbers, 5, width), START, END, limits, width, alphas)
    for alpha, found in zip(alphas, together, strict=True):
        alone = beam_search(FakeStepper(numbers, 5, width), START, END, limits, width, alpha)
        for one, other in zip(found, alone, strict=True):
            assert_same(one, other)
