"""Symptoms are measures of an output in which it can be bad. A higher number is better.

All symptoms except scores compare the output with its reference. For example, a repetition counts
only if the reference lacks it, as "a small circle above a small square" is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from areaviz.analysis.themes.material import FloatArray, Written
from areaviz.analysis.themes.pairs import Pair
from areaviz.analysis.themes.words import WORD_CLASSES

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
