"""Counts of n-grams that outputs share with their references, for a whole dataset at once.

sacrebleu takes about half a millisecond for BLEU and chrF of one sentence, because it counts
n-grams in Python dictionaries. Here n-grams are integers, and NumPy counts those of all sentences
together. `python -m benchmarks.scoring` compares the two. The scores equal those of sacrebleu to
the last bit, because sacrebleu's own formulas turn counts into scores.

Shapes: N sentences, G orders of n-grams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU, MAX_NGRAM_ORDER
from sacrebleu.metrics.chrf import CHRF

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Counts of n-grams, with order 1 in the first column.

    Args:
        outputs_NG: Number of n-grams in the outputs.
        references_NG: Number of n-grams in the references.
        shared_NG: Number of n-grams in both, each counted as often as it occurs in both.
    """

    outputs_NG: Counts
    references_NG: Counts
    shared_NG: Counts


def count_overlap(
    outputs: Sequence[str] | Sequence[Sequence[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
    orders: int,
) -> Overlap:
    """Count the n-grams of outputs, of references and of both, sentence by sentence.

    Args:
        outputs: N texts, whose characters are counted, or N lists of words.
        references: N texts or lists of words, one for each output.
        orders: G, the length of the longest n-gram.
    """
    count = len(outputs)
    both = [*outputs, *references]
    codes = _encode_words(both) if isinstance(both[0], list) else _encode_characters(both)
    sentences = np.repeat(np.arange(2 * count), [len(text) for text in both])
    # The number of a reference is its sentence's number plus N.
    lengths = np.bincount(sentences, minlength=2 * count)
    remaining = _count_remaining_items(lengths)
    grams, shared = codes, []
    for order in range(1, orders + 1):
        if order > 1:
            grams = _extend_ngrams(grams, codes, order, 2 * count)
        complete = remaining[: len(grams)] >= order
        shared.append(_count_shared(grams[complete], sentences[: len(grams)][complete], count))
    totals_NG = np.maximum(lengths[:, None] - np.arange(orders), 0)
    return Overlap(totals_NG[:count], totals_NG[count:], np.stack(shared, axis=1))


def score_sentences(
    outputs: Sequence[str], references: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute BLEU and chrF2 of every output against its one reference, each 0..100.

    BLEU uses 13a tokens and the effective order, as sacrebleu advises for single sentences.
    """
    if not outputs:
        return np.zeros(0), np.zeros(0)
    words, characters = _count_words(outputs, references), _count_characters(outputs, references)
    bleu = np.array(
        [_compute_bleu(words, place, is_effective=True) for place in range(len(outputs))]
    )
    return bleu, _compute_chrf(characters)


def score_corpus(outputs: Sequence[str], references: Sequence[str]) -> tuple[float, float]:
    """Compute the corpus BLEU and chrF2 of outputs against one reference each, both 0..100."""
    words, characters = _count_words(outputs, references), _count_characters(outputs, references)
    return _compute_bleu(_add_counts(words), 0, is_effective=False), float(
        _compute_chrf(_add_counts(characters))[0]
    )


def _add_counts(overlap: Overlap) -> Overlap:
    """Return the counts of all sentences together, as one row."""
    each = overlap.outputs_NG, overlap.references_NG, overlap.shared_NG
    return Overlap(*(counts_NG.sum(axis=0, keepdims=True) for counts_NG in each))


def _encode_words(texts: Iterable[Sequence[str]]) -> Counts:
    """Return a number for every word of all texts. Equal words have equal numbers."""
    numbers: dict[str, int] = {}
    words = chain.from_iterable(texts)
    return np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int64)


def _encode_characters(texts: Iterable[Sequence[str]]) -> Counts:
    """Return a small number for every character of all texts, equal for equal characters."""
    joined = "".join(chain.from_iterable(texts)).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(joined, np.uint32)
    codes: Counts = np.unique(points, return_inverse=True)[1].astype(np.int64)
    return codes


def _count_remaining_items(lengths: Counts) -> Counts:
    """Return, for every item, the number of items from there to the end of its text."""
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    remaining: Counts = np.repeat(lengths, lengths) - (np.arange(lengths.sum()) - starts)
    return remaining


def _extend_ngrams(grams: Counts, codes: Counts, order: int, texts: int) -> Counts:
    """Return a number for every n-gram of an order, from the n-grams that are one item shorter.

    Some n-grams run over the end of a text. The caller leaves them out.
    """
    ends = codes[order - 1 :]
    items = int(codes.max(initial=0)) + 1
    if (int(grams.max(initial=0)) + 1) * items * texts > np.iinfo(np.int64).max:
        # New consecutive numbers keep the product below from overflowing.
        grams = np.unique(grams, return_inverse=True)[1].astype(np.int64)
    extended: Counts = grams[: len(ends)] * items + ends
    return extended


def _count_shared(grams: Counts, sentences: Counts, count: int) -> Counts:
    """Return the number of n-grams that each of `count` outputs shares with its reference."""
    width = int(grams.max(initial=0)) + 1
    is_output = sentences < count
    ours, our_counts = np.unique(
        sentences[is_output] * width + grams[is_output], return_counts=True
    )
    theirs, their_counts = np.unique(
        (sentences[~is_output] - count) * width + grams[~is_output], return_counts=True
    )
    if not len(theirs):
        return np.zeros(count, np.int64)
    # Both are sorted, so the insertion position of a key is the position of an equal key.
    places = np.minimum(np.searchsorted(theirs, ours), len(theirs) - 1)
    matches = np.where(theirs[places] == ours, np.minimum(our_counts, their_counts[places]), 0)
    return np.bincount(ours // width, matches, count).astype(np.int64)


def _count_words(outputs: Sequence[str], references: Sequence[str]) -> Overlap:
    tokenize = _get_tokenizer()
    ours, theirs = (
        [tokenize(text.rstrip()).split() for text in side] for side in (outputs, references)
    )
    return count_overlap(ours, theirs, MAX_NGRAM_ORDER)


@cache
def _get_tokenizer() -> Callable[[str], str]:
    """Return the 13a tokenizer, created once because it caches the texts that it has split."""
    tokenizer: Callable[[str], str] = BLEU().tokenizer
    return tokenizer


def _count_characters(outputs: Sequence[str], references: Sequence[str]) -> Overlap:
    ours, theirs = (["".join(text.split()) for text in side] for side in (outputs, references))
    found = count_overlap(ours, theirs, CHRF.CHAR_ORDER)
    # As in sacrebleu, an output's n-grams of an order only count if its reference has some of that
    # order.
    return replace(found, outputs_NG=np.where(found.references_NG > 0, found.outputs_NG, 0))


def _compute_bleu(words: Overlap, place: int, is_effective: bool) -> float:
    score: float = BLEU.compute_bleu(
        words.shared_NG[place].tolist(),
        words.outputs_NG[place].tolist(),
        int(words.outputs_NG[place, 0]),
        int(words.references_NG[place, 0]),
        smooth_method="exp",
        effective_order=is_effective,
    ).score
    return score


def _compute_chrf(characters: Overlap) -> NDArray[np.float64]:
    """Return chrF2 (Popović 2015) for every row: the F-score of mean precision and mean recall.

    The means are taken over the orders that both sides have.
    """
    factor, shared_NG = CHRF.BETA**2, characters.shared_NG
    precision_N, recall_N, orders_N = np.zeros((3, len(shared_NG)))
    # Add in sacrebleu's order, because rounding depends on it.
    for order in range(shared_NG.shape[1]):
        ours, theirs = characters.outputs_NG[:, order], characters.references_NG[:, order]
        counts = (ours > 0) & (theirs > 0)
        precision_N += np.where(counts, shared_NG[:, order] / np.maximum(ours, 1), 0.0)
        recall_N += np.where(counts, shared_NG[:, order] / np.maximum(theirs, 1), 0.0)
        orders_N += counts
    precision_N /= np.maximum(orders_N, 1)
    recall_N /= np.maximum(orders_N, 1)
    weighted_N = factor * precision_N + recall_N
    scores_N = (1 + factor) * precision_N * recall_N / np.where(weighted_N > 0, weighted_N, 1)
    return 100 * scores_N
