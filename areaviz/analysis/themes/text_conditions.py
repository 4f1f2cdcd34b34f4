"""Conditions about a text other than single words: word classes, length, form and rare words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from areaviz.analysis.themes.words import QUOTES, WORD_CLASSES, split_keeping_case

# Quantiles of the length that define short and long texts.
SHORT, LONG = (0.1, 0.2, 0.35), (0.5, 0.65, 0.8, 0.9)
# Minimum number of characters of a long word.
LONG_WORD = 12
_HYPHEN = re.compile(r"\w-\w")
# The text of a condition, its words, whether it holds for each example, and whether it is named if
# it is too rare.
Found = tuple[str, tuple[str, ...], Sequence[bool], bool]


def iterate_text_conditions(
    side: str, texts: Sequence[str], words_E: Sequence[list[str]]
) -> Iterator[Found]:
    """Yield the conditions of texts other than single words and pairs of words.

    Args:
        side: "source" or "reference".
        texts: the text of each example.
        words_E: the words of each text in lower case.
    """
    yield from _iterate_word_classes(side, words_E)
    yield from _iterate_lengths(side, words_E)
    yield from _iterate_forms(side, texts, words_E)
    yield from _iterate_beginnings(side, words_E)
    yield from _iterate_rare_words(side, words_E)


def _iterate_word_classes(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    for one in WORD_CLASSES:
        counts = [sum(word in one.words for word in words) for words in words_E]
        words = tuple(sorted(one.words))
        yield f"the {side} has {one.one}", words, [count >= 1 for count in counts], True
        yield f"the {side} has {one.two}", words, [count >= 2 for count in counts], False


def _iterate_lengths(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    length_E = np.array([len(words) for words in words_E])
    for quantile in SHORT:
        most = int(np.quantile(length_E, quantile))
        yield f"the {side} has {most} words or fewer", (), list(length_E <= most), False
    for quantile in LONG:
        least = int(np.quantile(length_E, quantile)) + 1
        yield f"the {side} has {least} words or more", (), list(length_E >= least), False


def _iterate_forms(
    side: str, texts: Sequence[str], words_E: Sequence[list[str]]
) -> Iterator[Found]:
    yield f"the {side} has a comma", (), ["," in text for text in texts], True
    has_digit = [any(map(str.isdigit, text)) for text in texts]
    yield f"the {side} has a digit", (), has_digit, True
    yield f"the {side} has a hyphen", (), [bool(_HYPHEN.search(text)) for text in texts], True
    has_quotes = [not QUOTES.isdisjoint(text) for text in texts]
    yield f"the {side} has quotation marks", (), has_quotes, True
    has_end = [text.rstrip().endswith((".", "!", "?", "。")) for text in texts]
    yield f"the {side} has no full stop at its end", (), [not one for one in has_end], True
    if side == "source":
        # Nouns of German references are capitalised, so this is informative only for sources.
        capitals = [
            any(word[0].isupper() for word in split_keeping_case(text)[1:]) for text in texts
        ]
        yield f"the {side} has a capital inside, as of a name", (), capitals, True
    long = [any(len(word) >= LONG_WORD for word in words) for words in words_E]
    yield f"the {side} has a word of {LONG_WORD} letters or more", (), long, False


def _iterate_beginnings(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    firsts = [words[0] if words else "" for words in words_E]
    for word, count in Counter(firsts).items():
        if word and count > 1:
            yield f"the {side} begins with “{word}”", (), [one == word for one in firsts], False


def _iterate_rare_words(side: str, words_E: Sequence[list[str]]) -> Iterator[Found]:
    counts_E = count_unique_words(words_E)
    yield f"the {side} has a word that no other has", (), list(counts_E >= 1), False
    yield f"the {side} has two words that no other has", (), list(counts_E >= 2), False


def count_unique_words(words_E: Sequence[list[str]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many words of each text occur nowhere else in the texts: int [E]."""
    frequency = Counter(word for words in words_E for word in words)
    return np.array([sum(frequency[word] == 1 for word in words) for words in words_E], np.int64)
