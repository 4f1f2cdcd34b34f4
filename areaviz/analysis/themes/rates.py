"""How often words of the references are found in outputs, compared with equally frequent words.

A word that is found less often than words of its frequency is a theme. For example, "während" is
found in 3 % of the examples whose reference has it, and equally frequent words in 58 %.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.analysis.themes.material import FloatArray
from areaviz.analysis.themes.pairs import Matched
from areaviz.analysis.themes.words import WORD_CLASSES


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a word of the references is found in each example that has it.

    Attributes:
        found_E: the share of its occurrences that are found, NaN if the reference lacks the word.
        expected_E: this share for equally frequent words, or for the other system.
    """

    found_E: FloatArray
    expected_E: FloatArray

    @property
    def difference_E(self) -> FloatArray:
        """The share found minus the expected share."""
        return self.found_E - self.expected_E


def compute_word_rates(
    matched: Sequence[Sequence[Matched]], least: int, spelling: Mapping[str, str]
) -> Mapping[str, Rate]:
    """Return the rates of words and word classes that occur in at least `least` references.

    Args:
        matched: the words of each reference, and whether they are found.
        least: the number of examples that a word needs.
        spelling: the usual spelling of words, by their lower case.
    """
    frequency = Counter(word for row in matched for word in {one.word for one in row})
    shares = _compute_shares_by_frequency(matched, frequency)
    groups: dict[str, str] = {
        word: f"“{spelling.get(word, word)}”" for word, n in frequency.items() if n >= least
    }
    collected: dict[str, dict[int, list[tuple[bool, float]]]] = defaultdict(dict)
    classes = [(one.plural, one.words) for one in WORD_CLASSES]
    for place, row in enumerate(matched):
        for one in row:
            value = one.is_found, shares[_find_frequency_bucket(frequency[one.word])]
            titles = [plural for plural, words in classes if one.word in words]
            if one.word in groups:
                titles.append(groups[one.word])
            for title in titles:
                collected[title].setdefault(place, []).append(value)
    rates = {}
    for title, places in collected.items():
        if len(places) >= least:
            rates[title] = _compute_rate(places, len(matched))
    return dict(sorted(rates.items()))


def compare_rates(first: Mapping[str, Rate], second: Mapping[str, Rate]) -> Mapping[str, Rate]:
    """Return the rates of words in the second system, with those of the first as expected rates."""
    both = [title for title in second if title in first]
    return {title: Rate(second[title].found_E, first[title].found_E) for title in both}


def _find_frequency_bucket(frequency: int) -> int:
    """Return the bucket of a frequency. Each bucket spans a factor of two."""
    return frequency.bit_length()


def _compute_shares_by_frequency(
    matched: Sequence[Sequence[Matched]], frequency: Counter[str]
) -> Mapping[int, float]:
    found: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for row in matched:
        for one in row:
            bucket = _find_frequency_bucket(frequency[one.word])
            found[bucket] += one.is_found
            total[bucket] += 1
    return {bucket: found[bucket] / count for bucket, count in total.items()}


def _compute_rate(places: Mapping[int, list[tuple[bool, float]]], examples: int) -> Rate:
    found_E, expected_E = np.full((2, examples), np.nan)
    for place, values in places.items():
        found_E[place] = sum(is_found for is_found, _ in values) / len(values)
        expected_E[place] = sum(share for _, share in values) / len(values)
    return Rate(found_E, expected_E)
