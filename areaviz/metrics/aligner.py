"""A statistical word aligner, the baseline for the links of attention.

This is IBM model 1 with a prior that prefers the diagonal, as in fast_align (Dyer, Chahuneau and
Smith 2013, Eq. 1-2). Target word j comes from source word i with probability proportional to

    exp(-tension * |i / S - j / T|) * p(target word | source word)

The word translation table is learned by expectation maximisation. The tension is given.

Shapes: S source words, T target words, K pairs of words, E entries, one for each source and target
word of one sentence.
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
    """Translation probabilities by (source word, target word), and the tension of the prior."""

    probabilities: dict[tuple[str, str], float]
    tension: float

    @classmethod
    def train(
        cls, pairs: Sequence[tuple[Words, Words]], iterations: int = 5, tension: float = 4.0
    ) -> Aligner:
        """Learn an aligner from sentence pairs, split into words.

        Args:
            pairs: Pairs (source words, target words). Sentences without words are skipped.
            iterations: Number of iterations of expectation maximisation.
            tension: Strength of the preference for the diagonal. 0 gives IBM model 1.
        """
        keys: dict[tuple[str, str], int] = {}
        entries, groups, priors = [], [], []
        count = 0  # number of target words
        for source, target in pairs:
            prior_TS = compute_diagonal_prior(len(source), len(target), tension)
            for word, prior_S in zip(target, prior_TS, strict=True):
                for other in source:
                    entries.append(
                        keys.setdefault((normalise_word(other), normalise_word(word)), len(keys))
                    )
                    groups.append(count)
                priors.append(prior_S)
                count += 1
        sources: dict[str, int] = {}
        source_K = np.array([sources.setdefault(word, len(sources)) for word, _ in keys], np.int64)
        entry_E, group_E = np.array(entries, np.int64), np.array(groups, np.int64)
        prior_E = np.concatenate(priors or [np.zeros(0)])
        table_K = np.ones(len(keys))
        for _ in range(iterations):
            joint_E = prior_E * table_K[entry_E]
            share_E = joint_E / np.bincount(group_E, joint_E, count)[group_E]
            counts_K = np.bincount(entry_E, share_E, len(keys))
            table_K = counts_K / np.bincount(source_K, counts_K)[source_K]
        return cls(dict(zip(keys, table_K.tolist(), strict=True)), tension)

    def links(self, source: Words, target: Words) -> frozenset[tuple[int, int]]:
        """Link every known target word to its best source word, as (source, target) from 0."""
        found = set()
        prior_TS = compute_diagonal_prior(len(source), len(target), self.tension)
        for j, word in enumerate(target):
            score_S = prior_TS[j]
            for i, other in enumerate(source):
                score_S[i] *= self.probabilities.get(
                    (normalise_word(other), normalise_word(word)), 0.0
                )
            if score_S.any():
                found.add((int(score_S.argmax()), j))
        return frozenset(found)


def compute_diagonal_prior(sources: int, targets: int, tension: float) -> npt.NDArray[np.float64]:
    """Return exp(-tension * |i / S - j / T|), with each row divided by its sum: [T, S]."""
    i = (np.arange(sources) + 0.5) / max(1, sources)
    j = (np.arange(targets) + 0.5) / max(1, targets)
    weights: npt.NDArray[np.float64] = np.exp(-tension * np.abs(i - j[:, None]))
    weights /= np.maximum(weights.sum(1, keepdims=True), np.finfo(float).tiny)
    return weights


def make_diagonal_links(sources: int, targets: int) -> frozenset[tuple[int, int]]:
    """Link target words to source words at equal relative positions, as (source, target) from 0."""
    found = set()
    if sources:
        for j in range(targets):
            found.add((min(sources - 1, int((j + 0.5) * sources / targets)), j))
    return frozenset(found)


def normalise_word(word: str) -> str:
    """Return a word in lower case without punctuation at its ends."""
    return word.lower().strip(_MARKS)
