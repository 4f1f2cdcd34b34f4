"""A statistical aligner of words, the baseline that attention's links stand beside.

IBM model 1 with a prior that prefers the diagonal, as in fast_align (Dyer, Chahuneau and Smith
2013, Eq. 1-2):

    p(target word j comes from source word i) ~ exp(-tension * |i / S - j / T|) * p(target word |
    source word)

The word translation table is learned by expectation maximisation; the tension stays as it is given.
Shapes: E entries, one for each source and target word of the same sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Words = Sequence[str]
_MARKS = ".,;:!?\"'()"


@dataclass(frozen=True, slots=True, eq=False)
class Aligner:
    """Translation probabilities by (source word, target word), and the prior's tension."""

    probabilities: dict[tuple[str, str], float]
    tension: float

    @classmethod
    def train(
        cls, pairs: Sequence[tuple[Words, Words]], iterations: int = 5, tension: float = 4.0
    ) -> Aligner:
        """Learn from pairs of sentences, split into words.

        Args:
            pairs: (source words, target words); sentences without words are skipped.
            iterations: of expectation maximisation.
            tension: how strongly the diagonal is preferred; 0 is IBM model 1.
        """
        keys: dict[tuple[str, str], int] = {}
        entry_E, group_E, prior_E, groups = [], [], [], 0
        for source, target in pairs:
            priors_TS = diagonal_prior(len(source), len(target), tension)
            for j, word in enumerate(target):
                for i, other in enumerate(source):
                    entry_E.append(keys.setdefault((plain(other), plain(word)), len(keys)))
                    group_E.append(groups)
                    prior_E.append(priors_TS[j, i])
                groups += 1
        source_of = _numbers([source for source, _ in keys])
        entry, group, prior = np.array(entry_E), np.array(group_E), np.array(prior_E)
        table_K = np.ones(len(keys))
        for _ in range(iterations):
            joint_E = prior * table_K[entry]
            share_E = joint_E / np.bincount(group, joint_E, groups)[group]
            counts_K = np.bincount(entry, share_E, len(keys))
            table_K = counts_K / np.bincount(source_of, counts_K)[source_of]
        return cls(dict(zip(keys, table_K.tolist(), strict=True)), tension)

    def links(self, source: Words, target: Words) -> frozenset[tuple[int, int]]:
        """The best source word for every target word that was seen in training, as (source, target)
        from 0.
        """
        if not source or not target:
            return frozenset()
        scores_TS = diagonal_prior(len(source), len(target), self.tension)
        for j, word in enumerate(target):
            for i, other in enumerate(source):
                scores_TS[j, i] *= self.probabilities.get((plain(other), plain(word)), 0.0)
        best_T = scores_TS.argmax(1)
        return frozenset((int(i), j) for j, i in enumerate(best_T) if scores_TS[j, i] > 0)


def diagonal_prior(sources: int, targets: int, tension: float) -> npt.NDArray[np.float64]:
    """exp(-tension * |i / S - j / T|), each row divided by its sum: [T, S]."""
    i, j = (
        (np.arange(sources) + 0.5) / max(1, sources),
        (np.arange(targets) + 0.5) / max(1, targets),
    )
    weights: npt.NDArray[np.float64] = np.exp(-tension * np.abs(i - j[:, None]))
    weights /= np.maximum(weights.sum(1, keepdims=True), np.finfo(float).tiny)
    return weights


def diagonal_links(sources: int, targets: int) -> frozenset[tuple[int, int]]:
    """Every target word linked to the source word at the same part of the sentence: (source,
    target) from 0.
    """
    return frozenset(
        (min(sources - 1, int((j + 0.5) * sources / targets)), j) for j in range(targets) if sources
    )


def plain(word: str) -> str:
    """A word in lower case without the marks that stand beside it."""
    return word.lower().strip(_MARKS)


def _numbers(words: Sequence[str]) -> npt.NDArray[np.int64]:
    known: dict[str, int] = {}
    return np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int64)
