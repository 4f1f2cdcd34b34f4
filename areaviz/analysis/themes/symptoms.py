"""Symptoms: properties of an output that can be worse, as numbers where higher is better.

All symptoms except scores are measured against the reference, because a form such as repetition can
be correct: "a small circle above a small square".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from areaviz.analysis.themes.material import FloatArray, Written
from areaviz.analysis.themes.pairs import Pair
from areaviz.analysis.themes.words import WORD_CLASSES

# Number of examples with a word of a class in their reference that make the class a symptom.
LEAST_OF_CLASS = 40
# Longest texts in words whose order is compared, which takes the product of their lengths.
MAX_ORDERED = 150


@dataclass(frozen=True, slots=True)
class Symptom:
    """One symptom.

    Attributes:
        title: what it is, such as "colours of the reference found".
        phrase: says a value of it in a sentence, at {}.
        values_E: one for every example, higher is better, NaN where it does not apply.
        is_share: whether the values are shares, said in per cent.
        sign: -1 where people say the value the other way round: low is good, or what is missing.
    """

    title: str
    phrase: str
    values_E: FloatArray
    is_share: bool = True
    sign: int = 1

    @property
    def points(self) -> float:
        """The factor that converts a difference to points of 100."""
        if self.is_share:
            return 100.0
        return 100.0 if np.nanmax(np.abs(self.values_E), initial=0) <= 1.5 else 1.0


def find_symptoms(written: Written, pairs: Sequence[Pair]) -> tuple[Symptom, ...]:
    """Return all symptoms of one system's outputs.

    Args:
        written: by the system.
        pairs: its outputs with the references.
    """
    found = [_of_score(score.title, score.values, score.better) for score in written.scores]
    if any(pair.reference for pair in pairs):
        known = [pair if pair.reference else None for pair in pairs]
        found += [*_of_words(known), *_of_form(known), _of_ends(known), *_of_classes(known)]
    return tuple(one for one in found if np.isfinite(one.values_E).any())


def _of_score(title: str, values_E: FloatArray, better: str) -> Symptom:
    sign = -1 if better == "low" else 1
    phrase = f"the mean {title} is {{}}"
    return Symptom(title, phrase, sign * values_E, is_share=False, sign=sign)


def _of_words(pairs: Sequence[Pair | None]) -> list[Symptom]:
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


def _of_form(pairs: Sequence[Pair | None]) -> list[Symptom]:
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
        surplus = max(0, _repeated_pairs(pair.output) - _repeated_pairs(pair.reference))
        repeated_E.append(-surplus / max(1, written))
        order_E.append(_order(pair))
    return [
        Symptom(
            "missing length",
            "outputs are {} too short against the reference",
            np.array(short_E),
            sign=-1,
        ),
        Symptom(
            "surplus length",
            "{} of the outputs' length is surplus against the reference",
            np.array(long_E),
            sign=-1,
        ),
        Symptom(
            "repetition",
            "{} of the outputs' words repeat what the reference does not",
            np.array(repeated_E),
            sign=-1,
        ),
        Symptom(
            "order of the words found",
            "{} of the words found are in the reference's order",
            np.array(order_E),
        ),
    ]


def _of_ends(pairs: Sequence[Pair | None]) -> Symptom:
    ends_E = [float(pair.has_same_end) if pair else np.nan for pair in pairs]
    phrase = "{} of the outputs end as the reference does, with or without a full stop"
    return Symptom("end mark as in the reference", phrase, np.array(ends_E))


def _of_classes(pairs: Sequence[Pair | None]) -> list[Symptom]:
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


def _repeated_pairs(words: Sequence[str]) -> int:
    """Return the number of neighbouring word pairs that repeat an earlier one in the text."""
    pairs = list(pairwise(words))
    return len(pairs) - len(set(pairs))


def _order(pair: Pair) -> float:
    """Return the share of common words that are in the reference's order, NaN for few."""
    shared = pair.shared
    if shared < 3 or max(len(pair.output), len(pair.reference)) > MAX_ORDERED:
        return np.nan
    return longest_common_run(pair.output, pair.reference) / shared


def longest_common_run(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two sequences of words.

    Words are bits of one integer, so that a row of the table takes a few machine operations
    (Hyyrö 2004, "Bit-parallel LCS-length computation revisited").
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
