"""ROUGE-L of captions (Lin 2004), with several references as in COCO's evaluation (Chen et al.
2015).
"""

from __future__ import annotations

from collections.abc import Sequence

BETA = 1.2
"""How much more recall counts than precision; the value of COCO's script."""

Words = Sequence[str]


def rouge_l(hypothesis: Words, references: Sequence[Words]) -> float:
    """The score of one caption against its references, 0..1; 0 where nothing is shared.

    With l the longest common subsequence (Chen et al. 2015, Eq. 10-12): P = max l / |hypothesis|,
    R = max l / |reference|, score = (1 + beta^2) R P / (R + beta^2 P). Each maximum is taken over
    the references by itself, so P and R may come from two of them; the best F of a single reference
    would be lower or equal.
    """
    pairs = [
        (common_subsequence(hypothesis, reference), len(reference)) for reference in references
    ]
    precision = max((shared / len(hypothesis) for shared, _ in pairs if shared), default=0.0)
    recall = max((shared / length for shared, length in pairs if shared), default=0.0)
    if not precision:
        return 0.0
    return (1 + BETA**2) * recall * precision / (recall + BETA**2 * precision)


def common_subsequence(left: Words, right: Words) -> int:
    """How many words the longest common subsequence has, gaps allowed."""
    row = [0] * (len(right) + 1)
    for word in left:
        above = row
        row = [0]
        for place, other in enumerate(right):
            row.append(above[place] + 1 if word == other else max(above[place + 1], row[place]))
    return row[-1]
