"""Scores of written trees, and of the attention of their opening brackets.

Shapes: H heads, O opening brackets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.metrics.word_areas import Array, find_word_runs
from areaviz.trace.areas import Area
from areaviz.trace.kinds import WORD, read_tree
from areaviz.trace.record import AttentionMap, Field


@dataclass(frozen=True, slots=True)
class BracketScores:
    """Scores of trees, 0..1, over all sentences together."""

    # Scores of the brackets that contain words. A bracket is right if the gold tree has one with
    # its label and its words, as in PARSEVAL. Punctuation marks count as words here.
    precision: float
    recall: float
    f1: float
    # Share of trees that equal the gold tree.
    exact: float
    # Share of outputs that are not a complete tree with as many words as the sentence has.
    malformed: float
    # Share of outputs whose brackets do not match. These are also malformed.
    unbalanced: float


def score_brackets(written: Sequence[str], gold: Sequence[str]) -> BracketScores:
    """Compare written trees with the gold trees.

    Malformed trees are not repaired. Only their brackets that close before the first mistake count.
    """
    right = made = wanted = exact = malformed = unbalanced = 0
    for text, known in zip(written, gold, strict=True):
        tree, gold_tree = read_tree(text.split()), read_tree(known.split())
        own, golden = Counter(tree.list_brackets()), Counter(gold_tree.list_brackets())
        right += (own & golden).total()
        made += own.total()
        wanted += golden.total()
        exact += text.split() == known.split()
        # A gold tree may be a word without any bracket, so a copy of it is never malformed.
        if text.split() != known.split():
            malformed += not tree.is_of(gold_tree.words)
            unbalanced += bool(tree.problem) or not tree.is_closed
    precision, recall = right / max(made, 1), right / max(wanted, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    count = max(len(gold), 1)
    return BracketScores(
        precision, recall, f1, exact / count, malformed / count, unbalanced / count
    )


def make_flat_tree(count: int, label: str = "S") -> str:
    """Return a tree with a single bracket, which contains all `count` words."""
    return " ".join([f"({label}", *[WORD] * count, f"){label}"])


@dataclass(frozen=True, slots=True)
class Opening:
    """An opening bracket of a tree."""

    # The index of its token.
    token: int
    # The first item of its words, and their end (exclusive).
    first: int
    behind: int

    @property
    def size(self) -> int:
        """The number of items of its words."""
        return self.behind - self.first


def list_openings(tree: str, sentence: Field, most: int) -> list[Opening]:
    """Return those opening brackets of a tree that contain 2 to `most` items of the sentence."""
    runs = find_word_runs(sentence)
    found = []
    for node in read_tree(tree.split()).nodes:
        if node.first < node.behind <= len(runs):
            one = Opening(node.opening, runs[node.first][0], runs[node.behind - 1][1])
            if 2 <= one.size <= most:
                found.append(one)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class SpanHits:
    """How often opening brackets attend to exactly their words, with two baselines.

    Adding the hits of models with different numbers of heads raises ValueError.
    """

    openings: int
    # How often the top area is exactly the bracket's words: float64 [H].
    exact_H: Array
    # The expected number if areas of the same sizes were at random positions in the sentence.
    random_H: Array
    # The expected number if every bracket had the top area of another bracket of the sentence.
    other_H: Array

    def __add__(self, more: SpanHits) -> SpanHits:
        own, others = len(self.exact_H), len(more.exact_H)
        if own != others:
            raise ValueError(f"Hits of models with {own} and {others} heads cannot be added.")
        return SpanHits(
            self.openings + more.openings,
            self.exact_H + more.exact_H,
            self.random_H + more.random_H,
            self.other_H + more.other_H,
        )

    def compute_head_shares(self, head: int) -> dict[str, float]:
        """Return the shares of one head, 0..1."""
        count = max(self.openings, 1)
        return {
            "span": float(self.exact_H[head]) / count,
            "span_random": float(self.random_H[head]) / count,
            "span_other": float(self.other_H[head]) / count,
        }


def count_span_hits(attention: AttentionMap, openings: Sequence[Opening]) -> SpanHits:
    """Count for each head of the last layer the brackets whose top area is exactly their words."""
    exact_H, random_H, other_H = np.zeros((3, attention.heads))
    items = attention.grid.width
    tops_HO = attention.weights[-1][:, [one.token for one in openings]].argmax(-1)
    for head, tops_O in enumerate(tops_HO.tolist()):
        areas = [attention.grid.area(index) for index in tops_O]
        for number, (area, one) in enumerate(zip(areas, openings, strict=True)):
            exact_H[head] += _is_of(area, one)
            if area.width == one.size:
                random_H[head] += 1 / (items - area.width + 1)
            others = [_is_of(other, one) for place, other in enumerate(areas) if place != number]
            other_H[head] += sum(others) / max(len(others), 1)
    return SpanHits(len(openings), exact_H, random_H, other_H)


def _is_of(area: Area, opening: Opening) -> bool:
    return (area.left, area.width) == (opening.first, opening.size)
