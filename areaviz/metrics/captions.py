"""Caption quality against several references: BLEU by sacrebleu, ROUGE-L and CIDEr-D.

All are as COCO's script defines them. No well-kept library computes the last two without Java or a
captioning model's dependencies, so they are here.
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
"""How much more recall counts than precision in ROUGE-L; the value of COCO's script."""
LONGEST = 4
"""The longest n-grams that count in CIDEr-D."""
SIGMA = 6.0
"""How fast a difference in length, in words, lowers CIDEr-D."""

Words = Sequence[str]
Vector = Mapping[tuple[str, ...], float]


def caption_words(text: str) -> list[str]:
    """The words that are compared: lower-cased, without punctuation, "man's" as "man" and "'s".

    Near to what COCO's script has from the Penn Treebank tokenizer, which needs Java: words with
    hyphens stay whole there and here, but "don't" is "don" and "'t" here, and signs such as $ or %
    are dropped.
    """
    return _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def caption_scores(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, float | int | str]:
    """Scores of one caption for each picture against all of that picture's references.

    bleu_1..bleu_4: of the corpus, without smoothing, each caption measured against the reference
    nearest in length (Papineni et al. 2002), 0..100, with sacrebleu's signature under
    bleu_signature. COCO's script gives the same; only where not a single n-gram of the corpus fits
    it gives next to nothing and sacrebleu 0.
    rouge_l: mean over pictures, 0..100. cider_d: mean over pictures, 0..10, see `cider_d`.
    length_ratio: words produced for each one of the nearest references. captions: how many.

    Raises:
        ValueError: when there is no caption, or a picture lacks its caption or its references.
    """
    if not hypotheses or len(hypotheses) != len(references) or not all(references):
        lacking = sum(not texts for texts in references)
        raise ValueError(
            f"Scores need a caption and its references for every picture, got {len(hypotheses)}"
            f" captions, references for {len(references)} pictures, {lacking} of them empty."
        )
    made = [caption_words(text) for text in hypotheses]
    wanted = [[caption_words(text) for text in texts] for texts in references]
    rouge = [rouge_l(words, captions) for words, captions in zip(made, wanted, strict=True)]
    return {
        **_bleu(made, wanted),
        "rouge_l": 100 * float(np.mean(rouge)),
        "cider_d": float(np.mean(cider_d(made, wanted))),
        "captions": len(hypotheses),
    }


def _bleu(made: Sequence[Words], wanted: Sequence[Sequence[Words]]) -> dict[str, float | str]:
    """BLEU of every order, its signature, and the ratio of lengths."""
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


def rouge_l(hypothesis: Words, references: Sequence[Words]) -> float:
    """ROUGE-L (Lin 2004) of one caption against its references, 0..1; 0 where nothing is shared.

    With l the longest common subsequence (Chen et al. 2015, Eq. 10-12): P = max l / |hypothesis|,
    R = max l / |reference|, score = (1 + beta^2) R P / (R + beta^2 P). Each maximum is taken over
    the references by itself, so P and R may come from two of them; the best F of a single reference
    would be lower or equal.
    """
    precision = recall = 0.0
    for reference in references:
        shared = common_subsequence(hypothesis, reference)
        if shared:
            precision = max(precision, shared / len(hypothesis))
            recall = max(recall, shared / len(reference))
    if not precision:
        return 0.0
    return (1 + BETA**2) * recall * precision / (recall + BETA**2 * precision)


def common_subsequence(left: Words, right: Words) -> int:
    """Return the length of the longest common subsequence of two sequences, gaps allowed.

    The rows of the usual table of lengths differ by 0 or 1 from place to place, so a row is kept as
    the bits of one integer (Hyyrö 2004): a bit is 0 where the length grows.
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


def cider_d(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> list[float]:
    """CIDEr-D (Vedantam et al. 2015, sections 4 and 6.2) of each picture's caption, 0..10.

    For n = 1..4 a caption is a vector g with an entry for each of its n-grams: how often it has it,
    times its rarity, log(pictures / pictures that have it in any reference). A caption c and a
    reference s are compared by

        10 / 4 * sum over n of exp(-(|c| - |s|)^2 / (2 sigma^2))
                             * min(g(c), g(s)) . g(s) / (||g(c)|| ||g(s)||)

    and a picture's score is the mean over its references. Counts are not divided by the caption's
    length: the paper's Eq. 1 does that, its authors' script does not, and because of the minimum
    the two differ.

    Rarity is counted over the references given here, so scores depend on the set that is evaluated:
    an n-gram that every picture has counts nothing, and a single picture always gets 0. Papers
    often print 100 times the mean.
    """
    rarity = _rarity(references)
    unseen = log(len(references)) if references else 0.0
    scores = []
    for hypothesis, captions in zip(hypotheses, references, strict=True):
        made = _vectors(hypothesis, rarity, unseen)
        total = 0.0
        for caption in captions:
            near = exp(-((len(hypothesis) - len(caption)) ** 2) / (2 * SIGMA**2))
            total += near * _similarity(made, _vectors(caption, rarity, unseen))
        scores.append(10 * total / len(captions))
    return scores


def _rarity(references: Sequence[Sequence[Words]]) -> Vector:
    """The logarithm of how rare each n-gram of the references is."""
    pictures: Counter[tuple[str, ...]] = Counter()
    for captions in references:
        found: set[tuple[str, ...]] = set()
        for words in captions:
            found.update(*_ngrams(words))
        pictures.update(found)
    return {ngram: log(len(references) / count) for ngram, count in pictures.items()}


def _vectors(words: Words, rarity: Vector, unseen: float) -> list[Vector]:
    """The vector of each n; what no reference has is taken to be in one picture."""
    vectors: list[Vector] = []
    for ngrams in _ngrams(words):
        counts = Counter(ngrams)
        vectors.append({one: times * rarity.get(one, unseen) for one, times in counts.items()})
    return vectors


def _similarity(made: Sequence[Vector], wanted: Sequence[Vector]) -> float:
    """The mean over n of the cosines where no entry of `made` counts more than that of `wanted`."""
    total = 0.0
    for one, other in zip(made, wanted, strict=True):
        shared = 0.0
        for ngram, weight in one.items():
            if ngram in other:
                shared += min(weight, other[ngram]) * other[ngram]
        norms = hypot(*one.values()) * hypot(*other.values())
        if norms:
            total += shared / norms
    return total / LONGEST


def _ngrams(words: Words) -> list[list[tuple[str, ...]]]:
    """All runs of n words, in order, for n = 1..4."""
    ngrams = []
    for n in range(1, LONGEST + 1):
        ngrams.append([tuple(words[first : first + n]) for first in range(len(words) - n + 1)])
    return ngrams
