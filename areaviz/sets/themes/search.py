"""The search for themes in one half of the examples, and their test in the other half.

The statistics, the two halves and the measurements come first. Search, test and removal of
duplicates follow in the order in which they run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata, spearmanr, ttest_ind

from areaviz.sets.themes.conditions import (
    BoolArray,
    Conditions,
    FloatArray,
    Material,
    Quantity,
    find_conditions,
    find_quantities,
    find_usual_spelling,
)
from areaviz.sets.themes.symptoms import (
    Pair,
    Rate,
    Symptom,
    compare_rates,
    compute_word_rates,
    find_symptoms,
    pair_words,
)
from areaviz.trace.errors import InputError

# The statistics of themes: Welch's t, permutation, sign flips, bootstrap, false discovery rate.
#
# Shapes: N examples, C conditions, K slices.


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


# Two halves of the examples: one for searching, one for proving.
#
# Examples with the same document, source or file stay in one half. Otherwise a finding could hold
# in both halves only because they share a document.


IntArray = npt.NDArray[np.intp]
# Minimum number of examples in a half, because fewer prove nothing.
MIN_HALF = 32


def split_halves(material: Material, seed: int) -> tuple[IntArray, IntArray]:
    """Return the rows of both halves, each in rising order.

    Args:
        material: the examples.
        seed: the seed that assigns groups to halves.

    Raises:
        InputError: nearly all examples belong to one document, source or file.
    """
    groups = group_related_rows(material)
    rng = np.random.default_rng(seed)
    shuffled = [groups[number] for number in rng.permutation(len(groups))]
    # Assign large groups first, so that small ones can balance them.
    shuffled.sort(key=len, reverse=True)
    halves: tuple[list[int], list[int]] = ([], [])
    for group in shuffled:
        smaller = 0 if len(halves[0]) <= len(halves[1]) else 1
        halves[smaller].extend(group)
    if min(map(len, halves)) < MIN_HALF:
        raise InputError(
            "Nearly all examples share one document, source or file, so they cannot be split"
            " into two independent halves. Use a set with more documents."
        )
    first, second = (np.sort(np.array(half, np.intp)) for half in halves)
    return first, second


def group_related_rows(material: Material) -> list[list[int]]:
    """Return the rows that must stay together, in the order of their first row."""
    keys: list[Sequence[str]] = [
        [" ".join(source.lower().split()) for source in material.sources],
        material.files,
    ]
    if material.documents:
        keys.append(material.documents)
    parents = list(range(len(material)))

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    for column in keys:
        first: dict[str, int] = {}
        for row, key in enumerate(column):
            if key:
                one, other = root(row), root(first.setdefault(key, row))
                parents[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = defaultdict(list)
    for row in range(len(material)):
        groups[root(row)].append(row)
    return list(groups.values())


# All measurements of examples that the search for themes needs.


@dataclass(frozen=True, slots=True)
class Measurements:
    """Measurements of one system's outputs, or of their differences from another system's.

    Attributes:
        conditions: the conditions of the examples.
        symptoms: the measures of an output that can be worse. For two systems, the differences.
        rates: how often each word of the references is found.
        quantities: the ordered quantities that can have a trend.
        pairs: the outputs with their closest references.
        spelling: the usual spelling of words in references and outputs, by their lower case.
        is_compared: whether symptoms and rates compare two systems.
    """

    conditions: Conditions
    symptoms: tuple[Symptom, ...]
    rates: Mapping[str, Rate]
    quantities: tuple[Quantity, ...]
    pairs: tuple[Pair, ...]
    spelling: Mapping[str, str]
    is_compared: bool = False


def measure_examples(material: Material, worse: int, other: int | None = None) -> Measurements:
    """Return all conditions, symptoms, word rates and quantities.

    Args:
        material: the examples.
        worse: the number of the system whose failures are searched.
        other: the number of the system to compare with, None for none.
    """
    conditions = find_conditions(material, worse)
    pairs = pair_words(material, worse)
    symptoms = find_symptoms(material.written[worse], pairs)
    texts = [text for given in material.references for text in given]
    spelling = find_usual_spelling([*texts, *material.written[worse].outputs])
    rates = compute_word_rates([pair.matched for pair in pairs], conditions.least, spelling)
    if other is not None:
        of_other = pair_words(material, other)
        symptoms = _subtract_symptoms(symptoms, find_symptoms(material.written[other], of_other))
        expected = compute_word_rates(
            [pair.matched for pair in of_other], conditions.least, spelling
        )
        rates = compare_rates(expected, rates)
    quantities, is_compared = find_quantities(material), other is not None
    return Measurements(conditions, symptoms, rates, quantities, pairs, spelling, is_compared)


def _subtract_symptoms(
    symptoms: tuple[Symptom, ...], others: tuple[Symptom, ...]
) -> tuple[Symptom, ...]:
    """Return the differences of the symptoms, the first system's values minus the second's."""
    by_title = {one.title: one for one in others}
    found = []
    for one in symptoms:
        if one.title in by_title:
            difference_E = one.values_E - by_title[one.title].values_E
            found.append(replace(one, values_E=difference_E))
    return tuple(one for one in found if np.isfinite(one.values_E).any())


# The search in one half for slices by forward selection, words found too seldom, and trends.
#
# Shapes: E examples, H examples of the half, C conditions.


# A candidate must have Welch's t of at most this value.
MAX_T = -3.0
# Maximum number of slices for one symptom and in total.
MAX_OF_SYMPTOM, MAX_SLICES = 6, 40
# Minimum number of examples of the half inside a slice, and with values for a trend.
MIN_SLICE_EXAMPLES, MIN_EXAMPLES_OF_TREND = 8, 60
# Conjunctions combine up to PARENTS conditions, the strongest ones. The best one must have a t of
# at most PARENT_T.
PARENTS, PARENT_T = 15, -1.5
# The t of a conjunction must be lower than that of the best single condition by this value.
BEATS_BY = 1.0
# The mean of a conjunction must be lower than those of both parts by the factor LOWER. It may have
# at most the share SMALLER of the examples of its first part.
LOWER, SMALLER = 1.25, 0.8
# Slices above this Jaccard index count as the same examples.
SAME_SLICES = 0.7
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
        if all(compute_jaccard_index(mask_H, other_H) <= SAME_SLICES for other_H in masks):
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
    if known_H.sum() < 4 * MIN_SLICE_EXAMPLES or np.nanstd(values_H) < 1e-9:
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
    t_C[count_C < MIN_SLICE_EXAMPLES] = 0
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
            is_weak |= (count2_C < MIN_SLICE_EXAMPLES) | (count2_C > SMALLER * count_C[first])
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
        if len(difference) < MIN_SLICE_EXAMPLES or difference.mean() >= LEAST_RATE:
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


# The test of candidates in the half of the examples in which they were not found.
#
# Shapes: E examples.


SLICE, WORDS, TREND = "slice", "words", "trend"
# Minimum number of examples on each side of a slice, and of examples with a word, for a test.
MIN_TESTED_EXAMPLES = 5
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
        if min(inside_N.sum(), (~inside_N).sum()) < MIN_TESTED_EXAMPLES:
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
        if len(rows) >= MIN_TESTED_EXAMPLES:
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
        if len(rows) >= MIN_TESTED_EXAMPLES and np.ptp(quantity_N) and np.ptp(symptom_N):
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


# Removal of redundant themes: duplicates, and themes that a stronger theme explains.
#
# Shapes: E examples.


# A slice repeats a stronger one above the first Jaccard index. Above the second one, both halves
# found the same slice.
OVERLAP, SAME = 0.5, 0.7
# A slice counts as mostly within another one above this share of its examples.
MOSTLY = 0.5
# A slice keeps an effect of its own if its p value, outside stronger themes or within the strongest
# one, is below LEFT_P. Each side needs LEAST examples.
LEFT_P, LEAST = 0.01, 8
# Smallest relevant effect: in standard deviations (smaller for trends), in points, and in points of
# the share of found words.
DEVIATIONS, DEVIATIONS_OF_TREND, POINTS, POINTS_OF_WORDS = 0.25, 0.2, 3.0, 10.0


def keep_distinct(tests: Sequence[Tested], symptoms: Sequence[Symptom]) -> list[Tested]:
    """Return proved themes without redundant ones, the most certain theme first.

    Args:
        tests: themes of both directions.
        symptoms: the symptoms of the themes.
    """
    kept: list[Tested] = []
    for one in sorted(tests, key=lambda test: (test.q, test.candidate.t)):
        same = [place for place, other in enumerate(kept) if _is_same(one, other)]
        if same:
            kept[same[0]] = replace(kept[same[0]], halves=2)
        elif not _is_explained(one, kept, symptoms):
            kept.append(one)
    return [one for one in kept if _is_large(one, symptoms)]


def _is_same(one: Tested, other: Tested) -> bool:
    """Return whether both themes describe the same effect in the same examples."""
    first, second = one.candidate, other.candidate
    if isinstance(first, WordCandidate) and isinstance(second, WordCandidate):
        return first.title == second.title
    if isinstance(first, TrendCandidate) and isinstance(second, TrendCandidate):
        return (first.quantity, first.symptom) == (second.quantity, second.symptom)
    if isinstance(first, SliceCandidate) and isinstance(second, SliceCandidate):
        return (
            first.symptom == second.symptom
            and compute_jaccard_index(one.holds_E, other.holds_E) > SAME
        )
    return False


def _is_explained(one: Tested, kept: Sequence[Tested], symptoms: Sequence[Symptom]) -> bool:
    """Return whether a stronger theme already covers this theme."""
    candidate = one.candidate
    if isinstance(candidate, TrendCandidate):
        trends = [other.candidate for other in kept if other.family == TREND]
        quantities = [two.quantity for two in trends if isinstance(two, TrendCandidate)]
        return candidate.quantity in quantities
    is_slice = isinstance(candidate, SliceCandidate)
    for other in kept:
        # A slice and a word with the same examples are one theme. Two words with the same examples
        # are two.
        is_word_of = {other.family, one.family} == {SLICE, WORDS}
        is_alike = is_word_of or (is_slice and other.family == SLICE)
        if is_alike and compute_jaccard_index(other.holds_E, one.holds_E) > OVERLAP:
            return True
    if not isinstance(candidate, SliceCandidate):
        return False
    slices = [other for other in kept if other.family == SLICE]
    over = []
    for other in slices:
        if not isinstance(other.candidate, SliceCandidate):
            continue
        shared = (other.holds_E & one.holds_E).sum() / one.holds_E.sum()
        if other.candidate.symptom == candidate.symptom and shared > MOSTLY:
            over.append(other.holds_E)
    return bool(over) and not _is_left(one.holds_E, over, symptoms[candidate.symptom].values_E)


def _is_left(holds_E: BoolArray, over: Sequence[BoolArray], values_E: FloatArray) -> bool:
    """Return whether a slice is lower outside stronger slices or within the strongest one."""
    known_E = np.isfinite(values_E)
    outside_E = known_E & ~np.any(over, axis=0)
    within_E = known_E & over[0]
    return any(
        _is_lower(values_E[part_E & holds_E], values_E[part_E & ~holds_E])
        for part_E in (outside_E, within_E)
    )


def _is_lower(first: FloatArray, second: FloatArray) -> bool:
    if min(len(first), len(second)) < LEAST or np.ptp(np.concatenate([first, second])) == 0:
        return False
    # Two constant sides have no variance for a test, and their difference is certain.
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return bool(first[0] < second[0])
    return bool(ttest_ind(first, second, equal_var=False, alternative="less").pvalue < LEFT_P)


def _is_large(one: Tested, symptoms: Sequence[Symptom]) -> bool:
    """Return whether an effect reaches the smallest relevant size."""
    candidate = one.candidate
    if one.family == WORDS or isinstance(candidate, WordCandidate):
        return 100 * one.effect <= -POINTS_OF_WORDS
    symptom = symptoms[candidate.symptom]
    deviations = DEVIATIONS_OF_TREND if one.family == TREND else DEVIATIONS
    spread = deviations * float(np.nanstd(symptom.values_E))
    return -one.effect >= max(spread, POINTS / symptom.points)
