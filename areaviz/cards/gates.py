"""What a model has to reach on held-out data: gates, which stand in its recipe and are judged by
its figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS


@dataclass(frozen=True, slots=True)
class Gate:
    """One entry of `Card.gates`.

    what: is measured, in words. measure: set and key of `Card.figures` or `Card.attention`.
    at_least, at_most: a
    number, or another measure: its set and key, with the name of another model before them if it is
    not this one's.
    slack: how much worse than that still passes. why: the reason, should it be missed.
    """

    what: str
    measure: tuple[str, ...]
    at_least: float | tuple[str, ...] | None = None
    at_most: float | tuple[str, ...] | None = None
    slack: float = 0.0
    why: str = ""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Gate:
        """From plain values; ValueError for unknown entries, or when there is not exactly one
        bound.
        """
        values: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in entry.items()
        }
        try:
            gate = cls(**values)
        except TypeError as error:
            raise ValueError(f"A gate cannot be read: {error}.") from error
        if (gate.at_least is None) == (gate.at_most is None):
            raise ValueError(f'The gate "{gate.what}" needs either at_least or at_most.')
        return gate


@dataclass(frozen=True, slots=True)
class Judged:
    """A gate in words: what is wanted and what was measured. reached: None where either is not
    known yet.
    """

    what: str
    wanted: str
    measured: str
    reached: bool | None
    why: str


def judged(card: Card, cards: Mapping[str, Card]) -> list[Judged]:
    """The gates of a card; `cards`: all models by name, for gates that name others."""
    return [_judged(Gate.of(entry), card, cards) for entry in card.gates]


def _judged(gate: Gate, card: Card, cards: Mapping[str, Card]) -> Judged:
    rising = gate.at_least is not None
    asked = gate.at_least if rising else gate.at_most
    assert asked is not None
    bound = _value(asked, card, cards) if isinstance(asked, tuple) else float(asked)
    value = _value(gate.measure, card, cards)
    reached = None
    if bound is not None and value is not None:
        reached = (value - bound if rising else bound - value) + gate.slack >= 0
    words = "at least" if rising else "at most"
    wanted = f"{words} {_shown(bound, gate.measure, card)}{_named(asked, gate)}"
    why = gate.why if reached is False else ""
    return Judged(gate.what, wanted, _shown(value, gate.measure, card), reached, why)


def _value(measure: Sequence[str], card: Card, cards: Mapping[str, Card]) -> float | None:
    *model, part, key = measure
    found = cards.get(model[0]) if model else card
    if found is None:
        return None
    value = found.figures.get(part, found.attention.get(part, {})).get(key)
    return None if value is None else float(value)


def _named(asked: float | tuple[str, ...], gate: Gate) -> str:
    """Whose figure the bound is, and what is let pass."""
    whose = f" ({asked[0]})" if isinstance(asked, tuple) and len(asked) == 3 else ""
    return whose + (f" less {gate.slack:g}" if gate.slack else "")


def _shown(value: float | None, measure: Sequence[str], card: Card) -> str:
    """Shares in percent: those of attention that are at most 1, and the measures of the task that
    are shares.
    """
    if value is None:
        return "–"
    part, key = measure[-2:]
    share = key in TASKS[card.task].percent or (part in card.attention and not key.endswith("lift"))
    return f"{value:.1%}" if share else f"{value:.2f}"
