"""N-gram models: results by hand, comparison with a slow formula, and sums of probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.lab.tasks.language_model import USUAL_DISCOUNT, NGrams

START, END, VOCABULARY = 2, 3, 7
ROWS = [[4, 5, END], [4, 5, 6, END], [4, 6, END], [5, END]]
Rows = st.lists(
    st.lists(st.integers(4, VOCABULARY - 1), max_size=5).map(lambda row: [*row, END]), min_size=1
)


def counted(order: int, rows: Sequence[Sequence[int]] = ROWS) -> NGrams:
    return NGrams.count(rows, order, VOCABULARY, START)


def slow(rows: Sequence[Sequence[int]], order: int, context: tuple[int, ...], item: int) -> float:
    """Return a probability by the formula. This is slow: it lists all n-grams in every call."""
    grams = []
    for row in rows:
        padded = [START] * (order - 1) + list(row)
        grams += [tuple(padded[first : first + order]) for first in range(len(row))]
    levels = [grams]
    for _ in range(order - 1):
        levels.append([gram[1:] for gram in sorted(set(levels[-1]))])

    def likely(length: int) -> float:
        if length < 0:
            return 1 / VOCABULARY
        level = levels[order - 1 - length]
        before = context[len(context) - length :]
        same = [gram for gram in level if gram[:-1] == before]
        if not same:
            return likely(length - 1)
        times = [level.count(gram) for gram in set(level)]
        once, twice = times.count(1), times.count(2)
        discount = once / (once + 2 * twice) if once and twice else USUAL_DISCOUNT
        own = max(same.count((*before, item)) - discount, 0)
        return (own + discount * len(set(same)) * likely(length - 1)) / len(same)

    return likely(order - 1)


def test_unigrams_by_hand() -> None:
    """`ROWS` has 12 items: `END` four times, 4 and 5 three times each, and 6 twice.

    No item occurs exactly once, so the usual discount applies.
    """
    found, rest = counted(1), USUAL_DISCOUNT * 4 / 12 / VOCABULARY
    assert found.order == 1
    assert found.probability((), END) == pytest.approx(3.5 / 12 + rest)
    assert found.probability((), 6) == pytest.approx(1.5 / 12 + rest)
    assert found.probability((), 0) == pytest.approx(rest)


def test_bigrams_by_hand() -> None:
    """Only the end symbol follows 6, and it does so twice."""
    found = counted(2)
    # (4 5), (5 end) and (6 end) occur twice, (start 4) three times, and the other three once.
    discount = 3 / (3 + 2 * 3)
    below = found.probability((), END)
    assert found.probability((6,), END) == pytest.approx((2 - discount + discount * 1 * below) / 2)


@given(rows=Rows, order=st.integers(1, 3), data=st.data())
def test_probabilities_follow_formula_and_sum_to_one(
    rows: list[list[int]], order: int, data: st.DataObject
) -> None:
    found = counted(order, rows)
    items = st.integers(0, VOCABULARY - 1)
    context = tuple(data.draw(st.lists(items, min_size=order - 1, max_size=order - 1)))
    likely = [found.probability(context, item) for item in range(VOCABULARY)]
    assert min(likely) > 0 and sum(likely) == pytest.approx(1)
    for item, one in enumerate(likely):
        assert one == pytest.approx(slow(rows, order, context, item))


def test_row_costs_are_sums_of_item_costs() -> None:
    found = counted(3)
    steps = [((START, START), 4), ((START, 4), 6), ((4, 6), END)]
    likely = [found.probability(context, item) for context, item in steps]
    assert found.nats([[4, 6, END]]) == pytest.approx(-sum(map(math.log, likely)))


def test_longer_contexts_predict_counted_texts_better() -> None:
    costs = [counted(order, ROWS * 5).nats(ROWS) for order in (1, 2, 3)]
    assert costs[0] > costs[1] > costs[2]
