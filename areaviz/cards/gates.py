"""Gates: what a model has to reach on held-out data, set in its recipe, judged by its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS

_NUMBERS = ("lift", "dependence", "size", "entropy")
"""Ends of measures of attention that are no shares."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One entry of `Card.gates`; either `at_least` or `at_most` is there.

    Args:
        what: is measured, in words.
        measure: set and key of `Card.figures` or `Card.attention`.
        at_least: a number, or another measure: its set and key, with the name of another model
            before them if it is not this one's.
        at_most: the same.
        slack: how much worse than that still passes.
        why: the reason, should it be missed.
    """

    what: str
    measure: tuple[str, ...]
    at_least: float | tuple[str, ...] | None = None
    at_most: float | tuple[str, ...] | None = None
    slack: float = 0.0
    why: str = ""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Gate:
        """From plain values; ValueError for unknown entries, or without exactly one bound."""
        values: dict[str, Any] = {}
        for name, one in entry.items():
            values[name] = tuple(one) if isinstance(one, list) else one
        try:
            gate = cls(**values)
        except TypeError as error:
            raise ValueError(f"A gate cannot be read: {error}.") from error
        if (gate.at_least is None) == (gate.at_most is None):
            raise ValueError(f'The gate "{gate.what}" needs either at_least or at_most.')
        return gate


@dataclass(frozen=True, slots=True)
class Judged:
    """A gate in words: what is wanted and what was measured."""

    what: str
    wanted: str
    measured: str
    # None where either is not known yet
    reached: bool | None
    why: str


def judged(card: Card, cards: Mapping[str, Card]) -> list[Judged]:
    """The gates of a card; `cards`: all models by name, for gates that name others."""
    return [_judged(Gate.of(entry), card, cards) for entry in card.gates]


def _judged(gate: Gate, card: Card, cards: Mapping[str, Card]) -> Judged:
    value = _value(gate.measure, card, cards)
    if gate.at_least is not None:
        words, limit, sign = "at least", gate.at_least, 1
    else:
        assert gate.at_most is not None
        words, limit, sign = "at most", gate.at_most, -1
    bound = _value(limit, card, cards) if isinstance(limit, tuple) else float(limit)
    reached = None
    if bound is not None and value is not None:
        reached = sign * (value - bound) + gate.slack >= 0
    least = None if bound is None else bound - sign * gate.slack
    wanted = f"{words} {_shown(least, gate.measure, card)}"
    other = limit[0] if isinstance(limit, tuple) and len(limit) == 3 else ""
    if other and gate.slack:
        wanted += f" ({gate.slack:g} {'below' if sign > 0 else 'above'} {other})"
    elif other:
        wanted += f" ({other})"
    why = gate.why if reached is False else ""
    return Judged(gate.what, wanted, _shown(value, gate.measure, card), reached, why)


def _value(measure: Sequence[str], card: Card, cards: Mapping[str, Card]) -> float | None:
    *model, part, key = measure
    found = cards.get(model[0]) if model else card
    if found is None:
        return None
    value = found.figures.get(part, found.attention.get(part, {})).get(key)
    return None if value is None else float(value)


def _shown(value: float | None, measure: Sequence[str], card: Card) -> str:
    """A measure for people; in percent where it is a share."""
    if value is None:
        return "–"
    part, key = measure[-2:]
    is_share = key in TASKS[card.task].percent
    if part in card.attention and not key.endswith(_NUMBERS):
        is_share = True
    return f"{value:.1%}" if is_share else f"{value:.2f}"
