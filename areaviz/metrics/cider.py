"""CIDEr-D of captions (Vedantam et al. 2015, sections 4 and 6.2), as the evaluation server of COCO
computes it.

For n = 1..4 a caption is a vector g with an entry for each of its n-grams: how often it has it,
times its rarity, log(pictures / pictures that have it in any reference). A caption c and a
reference s are compared by

    10 / 4 * sum over n of exp(-(|c| - |s|)^2 / (2 sigma^2)) * min(g(c), g(s)) . g(s) / (||g(c)||
    ||g(s)||)

and a picture's score is the mean over its references. Counts are not divided by the caption's
length: the paper's Eq. 1 does that, its authors' script does not, and because of the minimum the
two differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, hypot, log

LONGEST = 4
"""The longest n-grams that count."""
SIGMA = 6.0
"""How fast a difference in length, in words, lowers the score."""

Words = Sequence[str]
Vector = Mapping[tuple[str, ...], float]


def cider_d(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> list[float]:
    """The score of each picture's caption against that picture's references, 0..10.

    Rarity is counted over the references given here, so scores depend on the set that is evaluated:
    an n-gram that every picture has counts nothing, and a single picture always gets 0. Papers
    often print 100 times the mean.
    """
    rarity = _rarity(references)
    scores = []
    for hypothesis, captions in zip(hypotheses, references, strict=True):
        made = _vectors(hypothesis, rarity, len(references))
        similar = [
            exp(-((len(hypothesis) - len(caption)) ** 2) / (2 * SIGMA**2))
            * _similarity(made, vectors)
            for caption, vectors in (
                (caption, _vectors(caption, rarity, len(references))) for caption in captions
            )
        ]
        scores.append(10 * sum(similar) / len(similar))
    return scores


def _rarity(references: Sequence[Sequence[Words]]) -> Vector:
    """The logarithm of how rare each n-gram of the references is."""
    pictures: Counter[tuple[str, ...]] = Counter()
    for captions in references:
        pictures.update(
            {
                ngram
                for words in captions
                for n in range(1, LONGEST + 1)
                for ngram in _ngrams(words, n)
            }
        )
    return {ngram: log(len(references) / count) for ngram, count in pictures.items()}


def _vectors(words: Words, rarity: Vector, pictures: int) -> list[Vector]:
    """The vector of each n; what no reference has is taken to be in one picture."""
    counts = [Counter(_ngrams(words, n)) for n in range(1, LONGEST + 1)]
    return [
        {ngram: times * rarity.get(ngram, log(pictures)) for ngram, times in count.items()}
        for count in counts
    ]


def _similarity(made: Sequence[Vector], wanted: Sequence[Vector]) -> float:
    """The mean of the clipped cosines, 0..1."""
    return (
        sum(_clipped_cosine(one, other) for one, other in zip(made, wanted, strict=True)) / LONGEST
    )


def _clipped_cosine(made: Vector, wanted: Vector) -> float:
    """The cosine where no entry of `made` counts more than that of `wanted`; 0 where either is
    nothing.
    """
    shared = sum(
        min(weight, wanted[ngram]) * wanted[ngram]
        for ngram, weight in made.items()
        if ngram in wanted
    )
    norms = hypot(*made.values()) * hypot(*wanted.values())
    return shared / norms if norms else 0.0


def _ngrams(words: Words, n: int) -> list[tuple[str, ...]]:
    """All runs of n words, in order."""
    return [tuple(words[first : first + n]) for first in range(len(words) - n + 1)]
