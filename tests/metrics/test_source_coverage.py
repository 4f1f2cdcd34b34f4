"""Coverage deviation and absentmindedness, by hand and by their bounds."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.sets.measures import measure_coverage


def test_one_to_one_attention_is_certain() -> None:
    found = measure_coverage(np.eye(4, dtype=np.float32))
    assert (found.coverage_deviation, found.absentmindedness, found.source_absentmindedness) == (
        0,
        0,
        0,
    )


def test_uniform_attention_is_absentminded_but_covers() -> None:
    found = measure_coverage(np.full((3, 3), 1 / 3, np.float32))
    assert found.coverage_deviation == pytest.approx(0, abs=1e-7)
    assert found.absentmindedness == pytest.approx(
        1
    ) and found.source_absentmindedness == pytest.approx(1)


def test_omitted_and_repeated_words_increase_deviation() -> None:
    shares = np.array(
        [[1, 0], [1, 0]], np.float32
    )  # the second source word gets nothing, the first gets twice its share
    found = measure_coverage(shares)
    assert found.coverage_deviation == pytest.approx((log(1 + 1) + log(1 + 1)) / 2)
    assert found.absentmindedness == 0 and found.source_absentmindedness == pytest.approx(1)


def test_word_without_attention_is_omitted_from_entropy() -> None:
    found = measure_coverage(np.array([[0, 0], [0.5, 0.5]], np.float32))
    assert found.absentmindedness == pytest.approx(1)
    assert found.coverage_deviation == pytest.approx(log(1 + 0.5**6))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_certainty_measures_stay_within_bounds(rows: int, columns: int, seed: int) -> None:
    weights = np.random.default_rng(seed).random((rows, columns)).astype(np.float32) + 1e-3
    found = measure_coverage(weights / weights.sum(1, keepdims=True))
    assert found.coverage_deviation >= 0
    assert (
        0 <= found.absentmindedness <= 1 + 1e-6 and 0 <= found.source_absentmindedness <= 1 + 1e-6
    )


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_no_words_is_an_error(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="at least one word"):
        measure_coverage(np.zeros(shape, np.float32))
