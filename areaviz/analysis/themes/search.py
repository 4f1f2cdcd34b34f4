"""The search in one half for slices by forward selection, words found too seldom, and trends.

Shapes: E examples, H examples of the half, C conditions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from areaviz.analysis.themes.halves import IntArray
from areaviz.analysis.themes.material import BoolArray, FloatArray
from areaviz.analysis.themes.quantities import Quantity
from areaviz.analysis.themes.rates import Rate
from areaviz.analysis.themes.statistics import (
    compute_jaccard_index,
    compute_moments,
    compute_welch_t,
)
from areaviz.analysis.themes.symptoms import Symptom

# A candidate must have Welch's t of at most this value.
MAX_T = -3.0
# Maximum number of slices for one symptom and in total.
MAX_OF_SYMPTOM, MAX_SLICES = 6, 40
# Minimum number of examples of the half inside a slice, and with values for a trend.
MIN_EXAMPLES, MIN_EXAMPLES_OF_TREND = 8, 60
# Conjunctions combine up to PARENTS conditions, the strongest ones. The best one must have a t of
# at most PARENT_T.
PARENTS, PARENT_T = 15, -1.5
# The t of a conjunction must be lower than that of the best single condition by this value.
BEATS_BY = 1.0
# The mean of a conjunction must be lower than those of both parts by the factor LOWER. It may have
# at most the share SMALLER of the examples of its first part.
LOWER, SMALLER = 1.25, 0.8
# Slices above this Jaccard index count as the same examples.
SAME = 0.7
# Maximum difference of a word's found and expected share, and smallest variance of a share.
LEAST_RATE, LEAST_VARIANCE = -0.15, 0.05


@dataclass(frozen=True, slots=True)
class SliceCandidate:
    """A slice: the numbers of its conditions, the number of its symptom, and Welch's t."""

    symptom: int
    columns: tuple[int, ...]
    t: float


@dataclass(frozen=True, slots=True)
class WordCandidate:
    """A word, or a class of words, that is found less often than expected."""

    title: str
    t: float


@dataclass(frozen=True, slots=True)
class TrendCandidate:
    """A quantity and a symptom by number.

    The sign is 1 if low values are worse, and -1 otherwise.
    """

    quantity: int
    symptom: int
    sign: int
    t: float


def search_slices(
    holds_EC: BoolArray, measured_C: BoolArray, symptoms: Sequence[Symptom], half: IntArray
) -> list[SliceCandidate]:
    """Return the slices of a half in which a symptom is lower, strongest first, without doubles.

    Args:
        holds_EC: whether each condition holds for each example.
        measured_C: whether each condition is a metric. Two metrics never form a conjunction.
        symptoms: the symptoms.
        half: the rows to search in.
    """
    holds_HC = holds_EC[half].astype(np.float32)
    if not holds_HC.shape[1]:
        return []
    found: list[SliceCandidate] = []
    for number, symptom in enumerate(symptoms):
        for columns, t in _select_slices(holds_HC, measured_C, symptom.values_E[half]):
            found.append(SliceCandidate(number, columns, t))
    found.sort(key=lambda one: (one.t, one.symptom, one.columns))
    kept: list[SliceCandidate] = []
    masks: list[BoolArray] = []
    for one in found:
        known_H = np.isfinite(symptoms[one.symptom].values_E[half])
        mask_H = holds_HC[:, list(one.columns)].all(1) & known_H
        if all(compute_jaccard_index(mask_H, other_H) <= SAME for other_H in masks):
            kept.append(one)
            masks.append(mask_H)
        if len(kept) == MAX_SLICES:
            break
    return kept


def _select_slices(
    holds_HC: npt.NDArray[np.float32], measured_C: BoolArray, values_H: FloatArray
) -> list[tuple[tuple[int, ...], float]]:
    """Select slices of one symptom one after another, and subtract the effect of each one found."""
    known_H = np.isfinite(values_H)
    if known_H.sum() < 4 * MIN_EXAMPLES or np.nanstd(values_H) < 1e-9:
        return []
    left_H = values_H - np.nanmean(values_H)
    found: list[tuple[tuple[int, ...], float]] = []
    for _ in range(MAX_OF_SYMPTOM):
        columns, t = _find_strongest_condition(holds_HC, measured_C, left_H)
        if t > MAX_T:
            break
        found.append((columns, t))
        inside_H = holds_HC[:, list(columns)].all(1)
        effect = left_H[inside_H & known_H].mean() - left_H[~inside_H & known_H].mean()
        left_H[inside_H] -= effect
    return found


def _find_strongest_condition(
    holds_HC: npt.NDArray[np.float32], measured_C: BoolArray, values_H: FloatArray
) -> tuple[tuple[int, ...], float]:
    """Return the condition, or the conjunction of two conditions, with the lowest t."""
    moments_H3 = compute_moments(values_H)
    total_3 = moments_H3.sum(0, dtype=float)
    variance = float(np.nanvar(values_H, ddof=1))
    t_C, mean_C, count_C = compute_welch_t(holds_HC.T @ moments_H3, total_3, variance)
    t_C[count_C < MIN_EXAMPLES] = 0
    best = int(t_C.argmin())
    columns: tuple[int, ...] = (best,)
    t = float(t_C[best])
    if t >= PARENT_T:
        return columns, t
    limit = t - BEATS_BY
    for first in np.argsort(t_C, kind="stable")[:PARENTS].tolist():
        rows = np.flatnonzero(holds_HC[:, first])
        both = holds_HC[rows].T @ moments_H3[rows]
        t2_C, mean2_C, count2_C = compute_welch_t(both, total_3, variance)
        with np.errstate(invalid="ignore"):
            is_weak = (mean2_C > LOWER * mean_C[first]) | (mean2_C > LOWER * mean_C)
            is_weak |= (count2_C < MIN_EXAMPLES) | (count2_C > SMALLER * count_C[first])
        t2_C[is_weak | (measured_C & measured_C[first])] = 0
        second = int(t2_C.argmin())
        if t2_C[second] < limit:
            limit = t = float(t2_C[second])
            columns = (first, second)
    return columns, t


def search_words(rates: Mapping[str, Rate], half: IntArray) -> list[WordCandidate]:
    """Return the words of a half that are found less often than expected."""
    found = []
    for title, rate in rates.items():
        difference = rate.difference_E[half]
        difference = difference[np.isfinite(difference)]
        if len(difference) < MIN_EXAMPLES or difference.mean() >= LEAST_RATE:
            continue
        variance = max(difference.var(ddof=1), LEAST_VARIANCE)
        t = float(difference.mean() / np.sqrt(variance / len(difference)))
        if t < MAX_T:
            found.append(WordCandidate(title, t))
    return found


def search_trends(
    quantities: Sequence[Quantity], symptoms: Sequence[Symptom], half: IntArray
) -> list[TrendCandidate]:
    """Return for each quantity the symptom with the strongest correlation in a half.

    For Spearman's correlation r of n examples, r sqrt(n) is used as t.
    """
    found = []
    for number, quantity in enumerate(quantities):
        values_H = quantity.values_E[half]
        best: TrendCandidate | None = None
        for column, symptom in enumerate(symptoms):
            r, count = compute_rank_correlation(values_H, symptom.values_E[half])
            t = -abs(r) * np.sqrt(count)
            if t < (best.t if best else MAX_T):
                best = TrendCandidate(number, column, 1 if r > 0 else -1, float(t))
        if best:
            found.append(best)
    return found


def compute_rank_correlation(first_H: FloatArray, second_H: FloatArray) -> tuple[float, int]:
    """Return Spearman's correlation (0 for too few pairs) and the number of known pairs."""
    known_H = np.isfinite(first_H) & np.isfinite(second_H)
    first, second = first_H[known_H], second_H[known_H]
    if len(first) < MIN_EXAMPLES_OF_TREND or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0, len(first)
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1]), len(first)
