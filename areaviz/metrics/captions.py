"""Caption quality against several references: BLEU by sacrebleu, ROUGE-L and CIDEr-D.

All are defined as in COCO's script. No well-maintained library computes ROUGE-L and CIDEr-D without
Java or the dependencies of a captioning model, so they are implemented here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import exp, hypot, log

import numpy as np
from sacrebleu.metrics.bleu import BLEU

_WORD = re.compile(r"\w+(?:-\w+)*|'(?:s|re|ve|ll|d|m|t)\b")

BETA = 1.2
"""Weight of recall relative to precision in ROUGE-L, the value of COCO's script."""
MAX_NGRAM = 4
"""Maximum length of n-grams in CIDEr-D."""
SIGMA = 6.0
"""Standard deviation of the length penalty of CIDEr-D, in words."""

Words = Sequence[str]
Vector = Mapping[tuple[str, ...], float]


def split_caption(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation.

    "man's" becomes "man" and "'s".

    The result is close to the Penn Treebank tokenizer of COCO's script, which needs Java. Both keep
    words with hyphens whole. Unlike COCO's script, this function splits "don't" into "don" and "'t"
    and drops symbols such as $ or %.
    """
    return _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def score_captions(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, float | int | str]:
    """Score one caption for each picture against all references of that picture.

    - bleu_1..bleu_4: corpus BLEU without smoothing, 0..100 (Papineni et al. 2002). The length of
      each caption is compared with the reference that is nearest in length. COCO's script gives
      equal scores, except that it returns almost 0 rather than 0 if no n-gram matches.
    - bleu_signature: the signature of sacrebleu.
    - rouge_l: mean over pictures, 0..100.
    - cider_d: mean over pictures, 0..10, see `compute_cider_d`.
    - length_ratio: words in captions divided by words in the references nearest in length.
    - captions: number of captions.

    Raises:
        ValueError: There are no captions, or a picture lacks its caption or its references.
    """
    if not hypotheses or len(hypotheses) != len(references) or not all(references):
        lacking = sum(not texts for texts in references)
        raise ValueError(
            f"Scores need a caption and its references for every picture. Got {len(hypotheses)}"
            f" captions for {len(references)} pictures, of which {lacking} have no references."
        )
    made = [split_caption(text) for text in hypotheses]
    wanted = [[split_caption(text) for text in texts] for texts in references]
    rouge = [compute_rouge_l(words, captions) for words, captions in zip(made, wanted, strict=True)]
    return {
        **_compute_bleu(made, wanted),
        "rouge_l": 100 * float(np.mean(rouge)),
        "cider_d": float(np.mean(compute_cider_d(made, wanted))),
        "captions": len(hypotheses),
    }


def _compute_bleu(
    made: Sequence[Words], wanted: Sequence[Sequence[Words]]
) -> dict[str, float | str]:
    """Return BLEU of every order, its signature, and the length ratio."""
    lines = [" ".join(words) for words in made]
    streams = list(zip_longest(*([" ".join(words) for words in captions] for captions in wanted)))
    found: dict[str, float | str] = {}
    for order in (1, 2, 3, 4):
        metric = BLEU(True, tokenize="none", smooth_method="none", max_ngram_order=order)
        score = metric.corpus_score(lines, streams)
        found[f"bleu_{order}"] = score.score
    found["bleu_signature"] = str(metric.get_signature())
    found["length_ratio"] = score.sys_len / score.ref_len if score.ref_len else float("nan")
    return found


def compute_rouge_l(hypothesis: Words, references: Sequence[Words]) -> float:
    """Compute ROUGE-L (Lin 2004) of one caption against its references, 0..1.

    The score is (1 + beta^2) R P / (R + beta^2 P), with P = max l / |hypothesis| and R = max l /
    |reference| (Chen et al. 2015, Eq. 10-12). Here l is the length of the longest common
    subsequence of the caption and a reference. The maxima are taken separately, so P and R may come
    from different references. Against a single reference the score is never higher. It is 0
    if no word is shared.
    """
    precision = recall = 0.0
    for reference in references:
        shared = measure_common_subsequence(hypothesis, reference)
        if shared:
            precision = max(precision, shared / len(hypothesis))
            recall = max(recall, shared / len(reference))
    if not precision:
        return 0.0
    return (1 + BETA**2) * recall * precision / (recall + BETA**2 * precision)


def measure_common_subsequence(left: Words, right: Words) -> int:
    """Return the length of the longest common subsequence of two sequences, which may have gaps.

    In a row of the usual table of lengths, neighbours differ by 0 or 1. A row is therefore stored
    as the bits of one integer, in which a bit is 0 where the length grows (Hyyrö 2004).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(right):
        places[word] = places.get(word, 0) | 1 << place
    full = (1 << len(right)) - 1
    row = full
    for word in left:
        matches = row & places.get(word, 0)
        row = (row + matches) | (row - matches)
    return len(right) - (row & full).bit_count()


def compute_cider_d(
    hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]
) -> list[float]:
    """Compute CIDEr-D (Vedantam et al. 2015, sections 4 and 6.2) of each picture's caption, 0..10.

    For n = 1..4, a caption is a vector g with an entry for each of its n-grams: the count of the
    n-gram times its rarity. The rarity is log(pictures / pictures with the n-gram in any
    reference). A caption c and a reference s are compared by

        10 / 4 * sum over n of exp(-(|c| - |s|)^2 / (2 sigma^2))
                             * min(g(c), g(s)) . g(s) / (||g(c)|| ||g(s)||)

    The score of a picture is the mean over its references. Counts are not divided by the length of
    the caption, as in the authors' script. Eq. 1 of the paper divides them. Because of the minimum,
    this gives other results.

    Rarity is counted over the given references, so scores depend on the evaluated set. An n-gram
    that occurs in every picture adds nothing, and a single picture always scores 0. Papers often
    print 100 times the mean.
    """
    rarity = _compute_rarity(references)
    unseen = log(len(references)) if references else 0.0
    scores = []
    for hypothesis, captions in zip(hypotheses, references, strict=True):
        made = _make_vectors(hypothesis, rarity, unseen)
        total = 0.0
        for caption in captions:
            near = exp(-((len(hypothesis) - len(caption)) ** 2) / (2 * SIGMA**2))
            total += near * _compute_similarity(made, _make_vectors(caption, rarity, unseen))
        scores.append(10 * total / len(captions))
    return scores


def _compute_rarity(references: Sequence[Sequence[Words]]) -> Vector:
    """Return the logarithm of the rarity of each n-gram in the references."""
    pictures: Counter[tuple[str, ...]] = Counter()
    for captions in references:
        found: set[tuple[str, ...]] = set()
        for words in captions:
            found.update(*_list_ngrams(words))
        pictures.update(found)
    return {ngram: log(len(references) / count) for ngram, count in pictures.items()}


def _make_vectors(words: Words, rarity: Vector, unseen: float) -> list[Vector]:
    """Return the vector for each n. An unseen n-gram counts as occurring in one picture."""
    vectors: list[Vector] = []
    for ngrams in _list_ngrams(words):
        counts = Counter(ngrams)
        vectors.append({one: times * rarity.get(one, unseen) for one, times in counts.items()})
    return vectors


def _compute_similarity(made: Sequence[Vector], wanted: Sequence[Vector]) -> float:
    """Return the mean cosine over n. No entry of `made` counts as more than that of `wanted`."""
    total = 0.0
    for one, other in zip(made, wanted, strict=True):
        shared = 0.0
        for ngram, weight in one.items():
            if ngram in other:
                shared += min(weight, other[ngram]) * other[ngram]
        norms = hypot(*one.values()) * hypot(*other.values())
        if norms:
            total += shared / norms
    return total / MAX_NGRAM


def _list_ngrams(words: Words) -> list[list[tuple[str, ...]]]:
    """Return all runs of n words, in order, for n = 1..4."""
    ngrams = []
    for n in range(1, MAX_NGRAM + 1):
        ngrams.append([tuple(words[first : first + n]) for first in range(len(words) - n + 1)])
    return ngrams
