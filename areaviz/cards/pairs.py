"""Readers of pairs of digits: the survey's Table 1, and which of our models each row is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS


@dataclass(frozen=True, slots=True)
class PairReader:
    """One way to read two digits.

    Args:
        title: for people.
        family: of our networks, as `Card.family`.
        published: the share of pairs that is read wrongly, as the survey reports it; None for none.
        options: what a network's config has to say.
    """

    title: str
    family: str
    published: float | None
    options: Mapping[str, Any] = field(default_factory=dict)

    def error(self, cards: Iterable[Card]) -> float | None:
        """The lowest error of our models of this kind on held-out pairs; None without any."""
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
"""The rows of the table (Ba, Mnih and Kavukcuoglu 2015, after the survey), and one of ours."""
