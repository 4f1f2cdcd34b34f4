"""Targets ("gates") of models on held-out data, set in recipes and checked by their figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz.cards.card import Card
from areaviz.cards.former_models import FORMER_MODELS
from areaviz.cards.tasks import TASKS

_NUMBERS = ("lift", "dependence", "size", "entropy")
"""Suffixes of attention metrics that are not shares."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One entry of `Card.gates`, with one limit: `at_least`, `at_most`, `over` or `under`.

    Args:
        what: Text for users that says what is measured.
        measure: Dataset and key in `Card.figures` or `Card.attention`.
        at_least: A number, or the dataset and key of another metric. For a metric of another model,
            the name of that model comes first.
        at_most: A number or another metric, see `at_least`.
        over: Keys of baselines next to the metric. The value must be `margin` above the best one.
        under: Keys of baselines for errors. The value must be `margin` below the best one.
        margin: Required distance from the best baseline, for `over` and `under`.
        slack: Distance by which a value may miss the limit and still pass.
        why: The reason for missing the target, if it is missed.
    """

    what: str
    measure: tuple[str, ...]
    at_least: float | tuple[str, ...] | None = None
    at_most: float | tuple[str, ...] | None = None
    over: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    margin: float = 0.0
    slack: float = 0.0
    why: str = ""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Gate:
        """Create a target from plain values.

        Raises:
            ValueError: There are unknown entries, or not exactly one limit.
        """
        values: dict[str, Any] = {}
        for name, one in entry.items():
            values[name] = tuple(one) if isinstance(one, list) else one
        try:
            gate = cls(**values)
        except TypeError as error:
            raise ValueError(f"A gate cannot be read: {error}.") from error
        limits = (gate.at_least is not None, gate.at_most is not None)
        if sum((*limits, bool(gate.over), bool(gate.under))) != 1:
            raise ValueError(
                f'The gate "{gate.what}" needs one of at_least, at_most, over and under.'
            )
        return gate


@dataclass(frozen=True, slots=True)
class TargetResult:
    """The result of a target in words: the wanted and the measured value."""

    what: str
    wanted: str
    measured: str
    # None if either value is not known yet.
    reached: bool | None
    why: str


def judge_targets(card: Card, cards: Mapping[str, Card]) -> list[TargetResult]:
    """Check the targets of a card. Targets may name other models, which `cards` has by name."""
    return [_judge_target(Gate.of(entry), card, cards) for entry in card.gates]


def _judge_target(gate: Gate, card: Card, cards: Mapping[str, Card]) -> TargetResult:
    value = _get_value(gate.measure, card, cards)
    if gate.over or gate.under:
        return _judge_margin(gate, value, card, cards)
    if gate.at_least is not None:
        words, limit, sign = "at least", gate.at_least, 1
    else:
        assert gate.at_most is not None
        words, limit, sign = "at most", gate.at_most, -1
    bound = _get_value(limit, card, cards) if isinstance(limit, tuple) else float(limit)
    reached = None
    if bound is not None and value is not None:
        reached = sign * (value - bound) + gate.slack >= 0
    least = None if bound is None else bound - sign * gate.slack
    wanted = f"{words} {_format_value(least, gate.measure, card)}"
    other = limit[0] if isinstance(limit, tuple) and len(limit) == 3 else ""
    if other and gate.slack:
        wanted += f" ({gate.slack:g} {'below' if sign > 0 else 'above'} {other})"
    elif other:
        wanted += f" ({other})"
    why = gate.why if reached is False else ""
    return TargetResult(gate.what, wanted, _format_value(value, gate.measure, card), reached, why)


def _judge_margin(
    gate: Gate, value: float | None, card: Card, cards: Mapping[str, Card]
) -> TargetResult:
    """Check the margin of a value over, or for errors under, the best of several baselines."""
    part, keys = gate.measure[0], gate.over or gate.under
    words, sign, best = ("at least", 1, max) if gate.over else ("at most", -1, min)
    found = [_get_value((part, key), card, cards) for key in keys]
    known = [one for one in found if one is not None]
    bound = best(known) + sign * gate.margin if len(known) == len(found) else None
    reached = None if bound is None or value is None else sign * (value - bound) >= 0
    beside = []
    for key, one in zip(keys, found, strict=True):
        name = key.removeprefix(gate.measure[1]).strip("_").replace("_", " ")
        beside.append(f"{name} {_format_value(one, gate.measure, card)}")
    wanted = f"{words} {_format_value(bound, gate.measure, card)} ({', '.join(beside)})"
    why = gate.why if reached is False else ""
    return TargetResult(gate.what, wanted, _format_value(value, gate.measure, card), reached, why)


def _get_value(measure: Sequence[str], card: Card, cards: Mapping[str, Card]) -> float | None:
    *model, part, key = measure
    found = cards.get(model[0]) if model else card
    if found is None:
        former = FORMER_MODELS.get(model[0])
        return former.figures.get(part, {}).get(key) if former else None
    value = found.figures.get(part, found.attention.get(part, {})).get(key)
    return None if value is None else float(value)


def _format_value(value: float | None, measure: Sequence[str], card: Card) -> str:
    """Format a metric for users, in per cent if it is a share."""
    if value is None:
        return "–"
    part, key = measure[-2:]
    is_share = key in TASKS[card.task].percent
    if part in card.attention and not key.endswith(_NUMBERS):
        is_share = True
    return f"{value:.1%}" if is_share else f"{value:.2f}"
