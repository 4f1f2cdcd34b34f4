"""The statistics of themes: Welch's t, permutation, sign flips, bootstrap, false discovery rate.

Shapes: N examples, C conditions, K slices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from areaviz.analysis.themes.material import BoolArray, FloatArray

# Numbers of draws after which a permutation test may stop. It stops after ENOUGH draws as extreme
# as the observed value.
DRAWS, STEP, ENOUGH = 8000, 1000, 20
RESAMPLES = 1000
# Tolerance for rounding in comparisons of drawn sums with the observed sum.
EPSILON = 1e-9
Interval = tuple[float, float]


def compute_moments(values_N: FloatArray) -> npt.NDArray[np.float32]:
    """Return count, value and square of each value [N, 3], zeros where it is NaN."""
    known_N = np.isfinite(values_N)
    filled_N = np.where(known_N, values_N, 0.0)
    return np.stack([known_N, filled_N, filled_N**2], axis=1).astype(np.float32)


def compute_welch_t(
    inside_C3: npt.NDArray[np.floating], total_3: FloatArray, variance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Welch's t of each slice against all other examples, with its mean and count.

        t = (mean inside - mean outside) / sqrt(var inside / n inside + var outside / n outside)

    (Welch 1947). A slice of equal values would have no variance, so the variance inside is at least
    half of the variance of all values.

    Args:
        inside_C3: sums of `compute_moments` inside each slice.
        total_3: the sums over all examples.
        variance: the variance of all values.

    Returns:
        t, the mean inside and the count inside, each [C].
    """
    count_C, sum_C, square_C = inside_C3.T.astype(float)
    outside = total_3[:, None] - inside_C3.T
    with np.errstate(all="ignore"):
        mean_C, mean_outside_C = sum_C / count_C, outside[1] / outside[0]
        var_C = (square_C / count_C - mean_C**2) * count_C / (count_C - 1)
        var_outside_C = outside[2] / outside[0] - mean_outside_C**2
        var_outside_C *= outside[0] / (outside[0] - 1)
        spread_C = np.maximum(var_C, 0.5 * variance) / count_C
        spread_C += np.maximum(var_outside_C, EPSILON) / outside[0]
        t_C = (mean_C - mean_outside_C) / np.sqrt(spread_C)
    return np.nan_to_num(t_C, posinf=0, neginf=0), mean_C, count_C


def compute_permutation_p(
    slices: Sequence[tuple[FloatArray, BoolArray]], rng: np.random.Generator
) -> list[float]:
    """Return for each slice the probability that chance makes its mean as low.

    One-sided permutation test, p = (1 + draws at most as large) / (1 + draws) (Phipson and Smyth
    2010). All slices share their draws.

    Args:
        slices: for each slice, values without NaN and whether they are inside, both [N].
        rng: draws the permutations.
    """
    count = len(slices[0][0])
    sizes = [int(inside_N.sum()) for _, inside_N in slices]
    # Only the sum of the smaller side is drawn, because the total sum is known.
    smaller = [min(size, count - size) for size in sizes]
    observed = [float(values_N[inside_N].sum()) for values_N, inside_N in slices]
    as_low, drawn = [0] * len(slices), [0] * len(slices)
    cuts = sorted({size - 1 for size in smaller if size > 0})
    for _ in range(DRAWS // STEP):
        waiting = [number for number, hits in enumerate(as_low) if hits < ENOUGH]
        if not waiting or not cuts:
            break
        keys = rng.random((STEP, count), np.float32)
        order = np.argpartition(keys, cuts, axis=1)[:, : cuts[-1] + 1]
        for number in waiting:
            values_N, _ = slices[number]
            sums = values_N[order[:, : smaller[number]]].sum(1)
            if smaller[number] != sizes[number]:
                sums = values_N.sum() - sums
            as_low[number] += int((sums <= observed[number] + EPSILON).sum())
            drawn[number] += STEP
    return [(1 + hits) / (1 + draws) for hits, draws in zip(as_low, drawn, strict=True)]


def sign_flip_p(differences_N: FloatArray, rng: np.random.Generator) -> float:
    """Return the probability that random signs give a mean at most as large."""
    signs = rng.integers(0, 2, (DRAWS, len(differences_N)), np.int8) * 2 - 1
    sums = signs @ differences_N
    hits = int((sums <= differences_N.sum() + EPSILON).sum())
    return (1 + hits) / (1 + DRAWS)


def mean_interval(values_N: FloatArray, rng: np.random.Generator) -> Interval:
    """Return the 95 % interval of a mean, by the bootstrap (Efron 1979)."""
    drawn = rng.integers(0, len(values_N), (RESAMPLES, len(values_N)))
    return _find_percentiles(values_N[drawn].mean(1))


def bootstrap_difference_interval(
    first_N: FloatArray, second_N: FloatArray, rng: np.random.Generator
) -> Interval:
    """Return the 95 % interval of the first mean minus the second, by the bootstrap."""
    means = []
    for values_N in (first_N, second_N):
        drawn = rng.integers(0, len(values_N), (RESAMPLES, len(values_N)))
        means.append(values_N[drawn].mean(1))
    return _find_percentiles(means[0] - means[1])


def _find_percentiles(means: FloatArray) -> Interval:
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def compute_false_discovery_q(p_values: Sequence[float]) -> list[float]:
    """Return the q value of each p value (Benjamini and Hochberg 1995)."""
    p_K = np.asarray(p_values, float)
    order = np.argsort(p_K)
    scaled = p_K[order] * len(p_K) / np.arange(1, len(p_K) + 1)
    falling = np.minimum.accumulate(scaled[::-1])[::-1]
    q_K = np.empty(len(p_K))
    q_K[order] = np.minimum(falling, 1)
    return [float(q) for q in q_K]


def compute_jaccard_index(first_N: BoolArray, second_N: BoolArray) -> float:
    """Return the number of examples in both slices divided by the number in either."""
    return float((first_N & second_N).sum() / max(1, (first_N | second_N).sum()))
