"""Statistics of themes, compared with slow references and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areaviz.sets.themes.search import (
    bootstrap_difference_interval,
    compute_false_discovery_q,
    compute_moments,
    compute_permutation_p,
    compute_welch_t,
    sign_flip_p,
)

RNG = np.random.default_rng(8)


def test_welch_t_agrees_with_scipy() -> None:
    values_N = RNG.normal(size=60)
    values_N[[3, 17]] = np.nan
    holds_NC = RNG.random((60, 5)) < 0.4
    found = compute_moments(values_N)
    t_C, mean_C, count_C = compute_welch_t(
        holds_NC.astype(np.float32).T @ found, found.sum(0, dtype=float), variance=0.0
    )
    for column in range(5):
        inside = values_N[holds_NC[:, column] & np.isfinite(values_N)]
        outside = values_N[~holds_NC[:, column] & np.isfinite(values_N)]
        expected = stats.ttest_ind(inside, outside, equal_var=False).statistic
        assert t_C[column] == pytest.approx(expected, rel=1e-3)
        assert mean_C[column] == pytest.approx(inside.mean(), abs=1e-5)
        assert count_C[column] == len(inside)


def test_welch_t_lends_variance_to_equal_values() -> None:
    values_N = np.concatenate([np.zeros(10), np.tile([0.0, 1.0], 20)])
    holds_N1 = (np.arange(50) < 10)[:, None]
    found = compute_moments(values_N)
    t_C, _, _ = compute_welch_t(
        holds_N1.astype(np.float32).T @ found, found.sum(0), float(values_N.var())
    )
    assert -10 < t_C[0] < -3


@pytest.mark.parametrize("inside", [6, 34])
def test_permutation_p_agrees_with_scipy(inside: int) -> None:
    values_N = RNG.normal(size=40)
    values_N[:inside] -= 0.4
    holds_N = np.arange(40) < inside
    (p,) = compute_permutation_p([(values_N, holds_N)], np.random.default_rng(1))
    expected = stats.permutation_test(
        (values_N[holds_N], values_N[~holds_N]),
        lambda one, other: one.mean() - other.mean(),
        alternative="less",
        n_resamples=8000,
        rng=np.random.default_rng(2),
    ).pvalue
    assert p == pytest.approx(expected, abs=0.03)


def test_permutation_p_is_least_for_the_lowest_values() -> None:
    values_N = np.arange(100.0)
    slices = [(values_N, values_N < 20), (values_N, values_N >= 80)]
    lowest, highest = compute_permutation_p(slices, np.random.default_rng(1))
    assert lowest == pytest.approx(1 / 8001)
    assert highest > 0.9


def test_sign_flip_p_agrees_with_enumeration() -> None:
    differences = np.array([-0.9, -0.2, 0.3, -0.7, -0.4, 0.1])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T
    expected = (signs @ differences <= differences.sum() + 1e-9).mean()
    assert sign_flip_p(differences, np.random.default_rng(3)) == pytest.approx(expected, abs=0.02)


def test_false_discovery_q_agrees_with_scipy() -> None:
    p_values = RNG.random(30) ** 3
    assert np.allclose(
        compute_false_discovery_q(list(p_values)), stats.false_discovery_control(p_values)
    )


def test_difference_interval_holds_the_difference() -> None:
    low, high = bootstrap_difference_interval(RNG.normal(1, 1, 200), RNG.normal(0, 1, 300), RNG)
    assert low < 1 < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(1 / 200 + 1 / 300), rel=0.25)
