"""Details of a theme: other symptoms, missing words, and words written instead of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from areaviz.analysis.themes.material import BoolArray
from areaviz.analysis.themes.symptoms import Symptom

# Maximum number of named words. Each must occur in at least LEAST examples of the theme. Its share
# of these examples must exceed its share of the other examples by at least MORE_OFTEN.
MAX_NAMED, LEAST, MORE_OFTEN = 3, 3, 0.03
# Maximum number of further symptoms, and the difference in standard deviations that they need.
MAX_FURTHER, LOWER = 2, -0.35


def find_further_symptoms(holds_E: BoolArray, symptoms: Sequence[Symptom], own: int) -> list[str]:
    """Return the titles of other symptoms that are much worse in a slice.

    Args:
        holds_E: whether each example belongs to the slice.
        symptoms: all symptoms.
        own: the number of the symptom of the theme.
    """
    found = []
    for number, symptom in enumerate(symptoms):
        known_E = np.isfinite(symptom.values_E)
        inside = symptom.values_E[known_E & holds_E]
        outside = symptom.values_E[known_E & ~holds_E]
        spread = np.nanstd(symptom.values_E)
        if number == own or min(len(inside), len(outside)) < LEAST or not spread:
            continue
        distance = (inside.mean() - outside.mean()) / spread
        if distance < LOWER:
            found.append((distance, symptom.title))
    return [title for _, title in sorted(found)[:MAX_FURTHER]]


def find_frequent_words(
    holds_E: BoolArray, words_E: Sequence[frozenset[str]], spelling: Mapping[str, str]
) -> str:
    """Return the words that occur in more examples of a slice than elsewhere, "" for none.

    Args:
        holds_E: whether each example belongs to the slice.
        words_E: the words of each example, such as missing words.
        spelling: the usual spelling of words, by their lower case.
    """
    inside: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    for holds, words in zip(holds_E, words_E, strict=True):
        (inside if holds else outside).update(words)
    count, rest = max(1, int(holds_E.sum())), max(1, int((~holds_E).sum()))
    lifts = []
    for word, times in inside.items():
        lift = times / count - outside[word] / rest
        if times >= LEAST and lift > MORE_OFTEN:
            lifts.append((-lift, word))
    named = [word for _, word in sorted(lifts)[:MAX_NAMED]]
    return ", ".join(f"“{spelling.get(word, word)}” ({inside[word]})" for word in named)
