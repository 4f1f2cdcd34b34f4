"""Removal of redundant themes: duplicates, and themes that a stronger theme explains.

Shapes: E examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import ttest_ind

from areaviz.analysis.themes.material import BoolArray, FloatArray
from areaviz.analysis.themes.proof import SLICE, TREND, WORDS, Tested
from areaviz.analysis.themes.search import SliceCandidate, TrendCandidate, WordCandidate
from areaviz.analysis.themes.statistics import compute_jaccard_index
from areaviz.analysis.themes.symptoms import Symptom

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
