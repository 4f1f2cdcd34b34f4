"""The search for themes: measure examples, search each half, test in the other one."""

from __future__ import annotations

import numpy as np

from areaviz.analysis.themes.conditions import MEASURE
from areaviz.analysis.themes.duplicates import keep_distinct
from areaviz.analysis.themes.halves import IntArray, split_halves
from areaviz.analysis.themes.material import Material, check_size
from areaviz.analysis.themes.measurements import Measurements, measure_examples
from areaviz.analysis.themes.proof import (
    WORDS,
    Tested,
    prove_slices,
    prove_trends,
    prove_words,
    with_q,
)
from areaviz.analysis.themes.search import search_slices, search_trends, search_words
from areaviz.analysis.themes.sentences import describe_themes
from areaviz.analysis.themes.theme import Themes

# Largest q value of a theme, and default seed of the split and of random draws.
MAX_Q, SEED = 0.02, 1


def find_themes(material: Material, seed: int = SEED) -> tuple[Themes, ...]:
    """Return the list of themes of one system, or for two systems the list of where each is worse.

    The second system's list comes first, because the second system is usually the new one.

    Args:
        material: the examples with the outputs of one system or two.
        seed: the seed of the halves and the draws. Equal input and seed give equal themes.

    Raises:
        InputError: there are too few or too many examples, or they cannot be split into halves.
    """
    check_size(material)
    halves = split_halves(material, seed)
    found = []
    for worse in reversed(range(len(material.written))):
        other = 1 - worse if len(material.written) > 1 else None
        measured = measure_examples(material, worse, other)
        tests = prove_themes(measured, halves, seed)
        themes = describe_themes(tests, measured, material.places, worse)
        conditions = measured.conditions
        about = len(material), conditions.least, conditions.rare, conditions.rare_words
        found.append(Themes(worse, other, themes, *about))
    return tuple(found)


def prove_themes(
    measured: Measurements, halves: tuple[IntArray, IntArray], seed: int, max_q: float = MAX_Q
) -> list[Tested]:
    """Search in each half, test in the other half, and drop redundant themes.

    Args:
        measured: the measurements of the examples.
        halves: the rows of both halves.
        seed: the seed of random draws.
        max_q: the largest false discovery rate.
    """
    rng = np.random.default_rng(seed)
    proved: list[Tested] = []
    for search_in, prove_in in (halves, halves[::-1]):
        tests = with_q(_test_suggestions(measured, search_in, prove_in, rng))
        proved += [one for one in tests if one.q <= max_q and _is_failure(one, measured)]
    return keep_distinct(proved, measured.symptoms)


def _is_failure(test: Tested, measured: Measurements) -> bool:
    """Return whether the system itself is worse, not only less good than in other examples."""
    return not measured.is_compared or test.family == WORDS or test.inside < 0


def _test_suggestions(
    measured: Measurements, search_in: IntArray, prove_in: IntArray, rng: np.random.Generator
) -> list[Tested]:
    """Return the suggestions of one half, tested in the other half."""
    conditions, symptoms = measured.conditions, measured.symptoms
    measured_C = np.array([one.kind == MEASURE for one in conditions.known], bool)
    slices = search_slices(conditions.holds_EC, measured_C, symptoms, search_in)
    words = search_words(measured.rates, search_in)
    trends = search_trends(measured.quantities, symptoms, search_in)
    return [
        *prove_slices(slices, conditions.holds_EC, symptoms, prove_in, rng),
        *prove_words(words, measured.rates, prove_in, rng),
        *prove_trends(trends, measured.quantities, symptoms, prove_in),
    ]
