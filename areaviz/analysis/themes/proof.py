"""The test of candidates in the half of the examples in which they were not found.

Shapes: E examples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr

from areaviz.analysis.themes.halves import IntArray
from areaviz.analysis.themes.material import BoolArray
from areaviz.analysis.themes.quantities import Quantity
from areaviz.analysis.themes.rates import Rate
from areaviz.analysis.themes.search import SliceCandidate, TrendCandidate, WordCandidate
from areaviz.analysis.themes.statistics import (
    bootstrap_difference_interval,
    compute_false_discovery_q,
    compute_permutation_p,
    mean_interval,
    sign_flip_p,
)
from areaviz.analysis.themes.symptoms import Symptom

SLICE, WORDS, TREND = "slice", "words", "trend"
# Minimum number of examples on each side of a slice, and of examples with a word, for a test.
MIN_EXAMPLES = 5
# A candidate with a larger p value gets no confidence interval, which would take time.
HOPELESS = 0.05
# Each half tests the candidates of the other half, so q values are doubled.
DIRECTIONS = 2
Candidate = SliceCandidate | WordCandidate | TrendCandidate


@dataclass(frozen=True, slots=True)
class Tested:
    """A candidate with the result of its test in the half in which it was not found.

    Attributes:
        family: SLICE, WORDS or TREND.
        candidate: the slice, word or trend that was found.
        holds_E: whether the theme is about each example, in both halves.
        p: the one-sided p value.
        q: the q value by Benjamini and Hochberg, doubled.
        inside: the mean inside the slice, of the word, or at the worse end of a trend.
        outside: the mean of all other examples, the expected value of a word, or the better end.
        low: the lower end of the 95 % interval of the difference, NaN for a trend.
        high: the upper end of this interval.
        halves: the number of halves in which the candidate was found.
    """

    family: str
    candidate: Candidate
    holds_E: BoolArray
    p: float = 1.0
    q: float = 1.0
    inside: float = np.nan
    outside: float = np.nan
    low: float = np.nan
    high: float = np.nan
    halves: int = 1

    @property
    def effect(self) -> float:
        """The difference of inside and outside, below 0 for a loss."""
        return self.inside - self.outside


def prove_slices(
    candidates: Sequence[SliceCandidate],
    holds_EC: BoolArray,
    symptoms: Sequence[Symptom],
    half: IntArray,
    rng: np.random.Generator,
) -> list[Tested]:
    """Test slices by permutation.

    Symptoms that apply to the same examples share their draws, because drawing takes most of the
    time.
    """
    groups: dict[bytes, list[Tested]] = defaultdict(list)
    for one in candidates:
        known_E = np.isfinite(symptoms[one.symptom].values_E)
        holds_E = holds_EC[:, list(one.columns)].all(1) & known_E
        groups[known_E.tobytes()].append(Tested(SLICE, one, holds_E))
    found = []
    for tests in groups.values():
        found += _prove_together(tests, symptoms, half, rng)
    return found


def _prove_together(
    tests: Sequence[Tested], symptoms: Sequence[Symptom], half: IntArray, rng: np.random.Generator
) -> list[Tested]:
    """Test slices whose symptoms are known for the same examples."""
    slices = []
    for one in tests:
        assert isinstance(one.candidate, SliceCandidate)
        values_E = symptoms[one.candidate.symptom].values_E
        rows = half[np.isfinite(values_E[half])]
        slices.append((values_E[rows], one.holds_E[rows]))
    found = []
    for one, (values_N, inside_N), p in zip(
        tests, slices, compute_permutation_p(slices, rng), strict=True
    ):
        if min(inside_N.sum(), (~inside_N).sum()) < MIN_EXAMPLES:
            found.append(one)
            continue
        inside, outside = values_N[inside_N], values_N[~inside_N]
        low = high = np.nan
        if p <= HOPELESS:
            low, high = bootstrap_difference_interval(inside, outside, rng)
        means = float(inside.mean()), float(outside.mean())
        found.append(replace(one, p=p, inside=means[0], outside=means[1], low=low, high=high))
    return found


def prove_words(
    candidates: Sequence[WordCandidate],
    rates: Mapping[str, Rate],
    half: IntArray,
    rng: np.random.Generator,
) -> list[Tested]:
    """Test words by random sign flips of the found minus the expected share."""
    found = []
    for one in candidates:
        rate = rates[one.title]
        test = Tested(WORDS, one, np.isfinite(rate.difference_E))
        rows = half[test.holds_E[half]]
        if len(rows) >= MIN_EXAMPLES:
            difference = rate.difference_E[rows]
            p = sign_flip_p(difference, rng)
            low, high = mean_interval(difference, rng)
            found_share, expected = rate.found_E[rows].mean(), rate.expected_E[rows].mean()
            means = float(found_share), float(expected)
            test = replace(test, p=p, low=low, high=high, inside=means[0], outside=means[1])
        found.append(test)
    return found


def prove_trends(
    candidates: Sequence[TrendCandidate],
    quantities: Sequence[Quantity],
    symptoms: Sequence[Symptom],
    half: IntArray,
) -> list[Tested]:
    """Test trends by Spearman's one-sided correlation. The means are those of the end fifths."""
    found = []
    for one in candidates:
        quantity_E, symptom_E = quantities[one.quantity].values_E, symptoms[one.symptom].values_E
        test = Tested(TREND, one, np.isfinite(quantity_E) & np.isfinite(symptom_E))
        rows = half[test.holds_E[half]]
        quantity_N, symptom_N = quantity_E[rows] * one.sign, symptom_E[rows]
        if len(rows) >= MIN_EXAMPLES and np.ptp(quantity_N) and np.ptp(symptom_N):
            p = float(spearmanr(quantity_N, symptom_N, alternative="greater").pvalue)
            low, high = np.quantile(quantity_N, [0.2, 0.8])
            worse = float(symptom_N[quantity_N <= low].mean())
            better = float(symptom_N[quantity_N >= high].mean())
            test = replace(test, p=p, inside=worse, outside=better)
        found.append(test)
    return found


def with_q(tests: Sequence[Tested]) -> list[Tested]:
    """Return all tests of one direction with their q values, see `DIRECTIONS`."""
    q_values = compute_false_discovery_q([one.p for one in tests])
    return [
        replace(one, q=min(1.0, DIRECTIONS * q)) for one, q in zip(tests, q_values, strict=True)
    ]
