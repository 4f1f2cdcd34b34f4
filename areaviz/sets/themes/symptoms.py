"""Symptoms of themes: measures in which an output can be bad, and words found too seldom.

The pairs of an output and its closest reference come first, because the others compare them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from areaviz.sets.themes.conditions import (
    WORD_CLASSES,
    FloatArray,
    Material,
    Written,
    lower_words,
    without_accents,
)

# Pairs of an output and its closest reference, compared word by word.


@dataclass(frozen=True, slots=True)
class Matched:
    """A word of a reference, and whether the output has it exactly or except for accents."""

    word: str
    is_found: bool
    is_similar: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """An output and its closest reference.

    Attributes:
        output: the words of the output in lower case.
        reference: the words of the reference, () if the example has none.
        matched: the words of the reference, each matched with at most one word of the output.
        shared: the number of common words. Each counts as often as both texts have it.
        has_same_end: whether both texts end with a punctuation mark, or neither does.
    """

    output: tuple[str, ...]
    reference: tuple[str, ...]
    matched: tuple[Matched, ...]
    shared: int
    has_same_end: bool

    @property
    def missing(self) -> frozenset[str]:
        """Words that the reference has more often than the output."""
        return frozenset(Counter(self.reference) - Counter(self.output))

    @property
    def surplus(self) -> frozenset[str]:
        """Words that the output has more often than the reference, if there is one."""
        return frozenset(Counter(self.output) - Counter(self.reference))


def pair_words(material: Material, system: int) -> tuple[Pair, ...]:
    """Return a system's outputs with the references that share most words with them."""
    outputs = material.written[system].outputs
    return tuple(
        _make_pair(output, references)
        for output, references in zip(outputs, material.references, strict=True)
    )


def _make_pair(output: str, references: Sequence[str]) -> Pair:
    words = tuple(lower_words(output))
    wanted, text = _find_closest_reference(words, references)
    has_same_end = _has_end_mark(output) == _has_end_mark(text)
    matched = _match_words(words, wanted)
    return Pair(words, wanted, matched, sum(one.is_found for one in matched), has_same_end)


def _find_closest_reference(
    output: tuple[str, ...], references: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Return the words of the closest reference and its text.

    Of equal ones, the last one is returned.

    The overlap counts each word as often as both texts have it, divided by the longer length.
    """
    found = [(tuple(lower_words(text)), text) for text in references]
    if len(found) < 2:
        return found[0] if found else ((), "")
    counts = Counter(output)

    def measure_overlap(words: tuple[str, ...]) -> float:
        return (counts & Counter(words)).total() / max(1, len(output), len(words))

    return max(found, key=lambda one: (measure_overlap(one[0]), one[1]))


def _match_words(output: tuple[str, ...], reference: tuple[str, ...]) -> tuple[Matched, ...]:
    left = Counter(output)
    missing = set(reference).difference(output)
    similar = set(map(without_accents, output)) if missing else set()
    found = []
    for word in reference:
        is_found = left[word] > 0
        left[word] -= is_found
        is_similar = is_found or without_accents(word) in similar if missing else is_found
        found.append(Matched(word, is_found, is_similar))
    return tuple(found)


def _has_end_mark(text: str) -> bool:
    return not text.rstrip()[-1:].isalnum()


# How often words of the references are found in outputs, compared with equally frequent words.
#
# A word that is found less often than words of its frequency is a theme. For example, "während" is
# found in 3 % of the examples whose reference has it, and equally frequent words in 58 %.


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


# Symptoms are measures of an output in which it can be bad. A higher number is better.
#
# All symptoms except scores compare the output with its reference. For example, a repetition counts
# only if the reference lacks it, as "a small circle above a small square" is right.


# A word class becomes a symptom if at least this many references contain a word of it.
LEAST_OF_CLASS = 40
# The order of words is compared only in texts of up to this many words, to save time.
MAX_ORDERED = 150


@dataclass(frozen=True, slots=True)
class Symptom:
    """One symptom.

    Attributes:
        title: the name of the symptom, such as "colours of the reference found".
        phrase: a clause in which {} stands for a value.
        values_E: a value for every example, NaN if the symptom does not apply to it.
        is_share: whether the values are shares, which sentences state in per cent.
        sign: -1 if `values_E` has negated values, so that higher is better. Sentences then state
            the values without this negation.
    """

    title: str
    phrase: str
    values_E: FloatArray
    is_share: bool = True
    sign: int = 1

    @property
    def points(self) -> float:
        """The factor that converts a difference to points on a scale from 0 to 100."""
        if self.is_share:
            return 100.0
        return 100.0 if np.nanmax(np.abs(self.values_E), initial=0) <= 1.5 else 1.0


def find_symptoms(written: Written, pairs: Sequence[Pair]) -> tuple[Symptom, ...]:
    """Return all symptoms of one system's outputs.

    Args:
        written: the outputs of the system and their measurements.
        pairs: each output with its closest reference.
    """
    found = [
        _make_score_symptom(score.title, score.values, score.better) for score in written.scores
    ]
    if any(pair.reference for pair in pairs):
        known = [pair if pair.reference else None for pair in pairs]
        found += [
            *_list_word_symptoms(known),
            *_list_form_symptoms(known),
            _make_ending_symptom(known),
            *_list_word_class_symptoms(known),
        ]
    return tuple(one for one in found if np.isfinite(one.values_E).any())


def _make_score_symptom(title: str, values_E: FloatArray, better: str) -> Symptom:
    sign = -1 if better == "low" else 1
    phrase = f"the mean {title} is {{}}"
    return Symptom(title, phrase, sign * values_E, is_share=False, sign=sign)


def _list_word_symptoms(pairs: Sequence[Pair | None]) -> list[Symptom]:
    recall_E: list[float] = []
    precision_E: list[float] = []
    accents_E: list[float] = []
    for pair in pairs:
        if pair is None:
            for values in (recall_E, precision_E, accents_E):
                values.append(np.nan)
            continue
        count = len(pair.reference)
        found = sum(one.is_found for one in pair.matched)
        similar = sum(one.is_similar and not one.is_found for one in pair.matched)
        recall_E.append(found / count)
        precision_E.append(pair.shared / max(1, len(pair.output)))
        accents_E.append(-similar / count)
    return [
        Symptom(
            "words of the reference found",
            "{} of the references' words are found",
            np.array(recall_E),
        ),
        Symptom(
            "words of the output in the reference",
            "{} of the outputs' words are in the reference",
            np.array(precision_E),
        ),
        Symptom(
            "words that differ by accents",
            "{} of the references' words are written with other accents",
            np.array(accents_E),
            sign=-1,
        ),
    ]


def _list_form_symptoms(pairs: Sequence[Pair | None]) -> list[Symptom]:
    short_E: list[float] = []
    long_E: list[float] = []
    repeated_E: list[float] = []
    order_E: list[float] = []
    for pair in pairs:
        if pair is None:
            for values in (short_E, long_E, repeated_E, order_E):
                values.append(np.nan)
            continue
        written, wanted = len(pair.output), len(pair.reference)
        short_E.append(min(1.0, written / wanted) - 1)
        long_E.append(min(1.0, wanted / max(1, written)) - 1)
        surplus = max(0, _count_repeated_pairs(pair.output) - _count_repeated_pairs(pair.reference))
        repeated_E.append(-surplus / max(1, written))
        order_E.append(_measure_common_order(pair))
    return [
        Symptom(
            "missing length",
            "{} of the references' length is missing from the outputs",
            np.array(short_E),
            sign=-1,
        ),
        Symptom(
            "surplus length",
            "{} of the outputs' length exceeds the reference",
            np.array(long_E),
            sign=-1,
        ),
        Symptom(
            "repetition",
            "{} of the outputs' words are repetitions that the reference does not have",
            np.array(repeated_E),
            sign=-1,
        ),
        Symptom(
            "order of the words found",
            "{} of the words found are in the reference's order",
            np.array(order_E),
        ),
    ]


def _make_ending_symptom(pairs: Sequence[Pair | None]) -> Symptom:
    ends_E = [float(pair.has_same_end) if pair else np.nan for pair in pairs]
    phrase = "{} of the outputs end as the reference does, with or without a full stop"
    return Symptom("end mark as in the reference", phrase, np.array(ends_E))


def _list_word_class_symptoms(pairs: Sequence[Pair | None]) -> list[Symptom]:
    found = []
    for kind in WORD_CLASSES:
        shares_E = np.full(len(pairs), np.nan)
        for place, pair in enumerate(pairs):
            hits = [one.is_found for one in pair.matched if one.word in kind.words] if pair else []
            if hits:
                shares_E[place] = np.mean(hits)
        if np.isfinite(shares_E).sum() >= LEAST_OF_CLASS:
            phrase = f"{{}} of the references' {kind.plural} are found"
            found.append(Symptom(f"{kind.plural} of the reference found", phrase, shares_E))
    return found


def _count_repeated_pairs(words: Sequence[str]) -> int:
    """Return how many pairs of neighbouring words repeat an earlier pair of the text."""
    pairs = list(pairwise(words))
    return len(pairs) - len(set(pairs))


def _measure_common_order(pair: Pair) -> float:
    """Return the share of common words in the reference's order, NaN if it is undefined."""
    shared = pair.shared
    if shared < 3 or max(len(pair.output), len(pair.reference)) > MAX_ORDERED:
        return np.nan
    return measure_longest_common_subsequence(pair.output, pair.reference) / shared


def measure_longest_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two sequences of words.

    The bits of one integer hold a row of the usual table of lengths, so a row takes only a few
    operations (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").
    """
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(first)) - 1
    open_bits = full
    for word in second:
        hits = open_bits & places.get(word, 0)
        open_bits = ((open_bits + hits) | (open_bits - hits)) & full
    return len(first) - open_bits.bit_count()
