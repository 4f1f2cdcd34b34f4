"""Average precision by hand and compared with a loop over examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.lab.tasks.picture_encoder import mean_average_precision

ROWS = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=8)


def column(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def slow_average_precision(rows: list[tuple[int, bool]]) -> float:
    """Return the mean precision over the examples with the label.

    The precision of an example is taken among all examples that score at least as high.
    """
    precisions = []
    for score, label in rows:
        if label:
            above = [other_label for other, other_label in rows if other >= score]
            precisions.append(sum(above) / len(above))
    return sum(precisions) / len(precisions) if precisions else math.nan


def test_average_precision_by_hand() -> None:
    # The labels are at ranks 1, 3 and 4, with precisions 1, 2/3 and 3/4.
    assert mean_average_precision(
        column([9, 8, 7, 6, 5]), column([1, 0, 1, 1, 0])
    ) == pytest.approx(29 / 36)


def test_mean_over_labels_omits_absent_labels() -> None:
    scores = np.array([[3.0, 1, 1], [2, 2, 2], [1, 3, 3]])
    labels = np.array([[1.0, 1, 0], [0, 0, 0], [0, 0, 0]])
    assert mean_average_precision(scores, labels) == pytest.approx((1 + 1 / 3) / 2)


def test_no_labels_give_no_figure() -> None:
    assert math.isnan(mean_average_precision(np.ones((3, 2)), np.zeros((3, 2))))


@pytest.mark.parametrize("labels", [[1.0, 0, 0, 0], [0.0, 0, 0, 1]], ids=["first", "last"])
def test_equal_scores_give_the_positive_share(labels: list[float]) -> None:
    assert mean_average_precision(column([5, 5, 5, 5]), column(labels)) == pytest.approx(1 / 4)


@settings(deadline=None, max_examples=80)
@given(ROWS, st.randoms(use_true_random=False))
def test_average_precision_matches_loop_in_any_order(
    rows: list[tuple[int, bool]], random: object
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    found = mean_average_precision(
        column([row[0] for row in shuffled]), column([row[1] for row in shuffled])
    )
    assert found == pytest.approx(slow_average_precision(rows), nan_ok=True)
