"""Classifiers of digit pairs: the rows of the survey's Table 1, and our models for each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS


@dataclass(frozen=True, slots=True)
class PairReader:
    """One mechanism for reading two digits.

    Args:
        title: Name for users.
        family: Family of our networks, as in `Card.family`.
        published: Share of wrongly read pairs as the survey reports it, or None.
        options: Required entries of a network's config.
    """

    title: str
    family: str
    published: float | None
    options: Mapping[str, Any] = field(default_factory=dict)

    def error(self, cards: Iterable[Card]) -> float | None:
        """Return the lowest error of our models of this kind on held-out pairs, or None."""
        errors = []
        for card in cards:
            wanted = {"kind": "pairs", **self.options}.items()
            is_meant = card.family == self.family and wanted <= card.config.items()
            measured = card.figures.get(TASKS["digits"].headline, {}).get("error")
            if is_meant and measured is not None:
                errors.append(float(measured))
        return min(errors, default=None)


PAIR_READERS: Sequence[PairReader] = (
    PairReader("One layer of glimpses", "ram", 0.09),
    PairReader("Two layers, no coarse look", "dram", 0.07, {"context": False}),
    PairReader("Two layers after a coarse look", "dram", 0.05, {"context": True}),
    PairReader("Spatial transformer, look by look", "rnn-stn", None),
)
"""The rows of the table (Ba, Mnih and Kavukcuoglu 2015, as quoted by the survey), and one row of
ours.
"""
