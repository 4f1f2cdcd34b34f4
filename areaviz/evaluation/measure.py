"""Measurement of a checkpoint.

The function of its task measures it and the figures go to the card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from areaviz.cards.card import Card, Opening, read_card, write_card
from areaviz.cards.tasks import TASKS
from areaviz.evaluation.tasks import EVALUATIONS
from areaviz.models import MODELS
from areaviz.models.base import choose_device
from areaviz.trace.errors import InputError, check_choice

Place = tuple[int, int]
"""Layer and head, counted from 0."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options for measuring models that write."""

    # Beam width. 1 is greedy decoding.
    beam: int = 4
    # Number of examples over which attention is measured, 0 for none.
    traces: int = 200
    # True if outputs are written and scored. Without them, only attention is measured.
    outputs: bool = True

    @property
    def method(self) -> str:
        """The decoding method, as in a request."""
        return "greedy" if self.beam == 1 else "beam"


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a task for a model on one split."""

    # Metric -> value, for the split's entry of `Card.figures`.
    figures: Mapping[str, Any]
    # Entry of `Card.attention` -> metric -> value.
    attention: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # The outputs of the model.
    outputs: Sequence[str] = ()
    # Entry of `Card.recipe` -> value that validation chose.
    chosen: Mapping[str, Any] = field(default_factory=dict)
    # Figures of every head, for `Card.heads`.
    heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # How pages first show each site, if validation chose it.
    opening: Mapping[str, Opening] = field(default_factory=dict)


def evaluate_checkpoint(
    folder: Path, data: Path, split: str, options: Options, device: str = "auto"
) -> tuple[Card, Sequence[str]]:
    """Measure a checkpoint and write the figures to its card.

    Returns:
        The card, and the outputs of the model.

    Raises:
        FileNotFoundError: The corpus is not in `data`.
        BackendError: The checkpoint cannot be loaded.
        InputError: The task does not have this split, or another split has to be measured first.
    """
    card = read_card(folder / "card.json")
    task = TASKS[card.task]
    check_choice("split", split, task.splits)
    model = MODELS[card.family].load(folder, card, choose_device(device))
    found: Measured = resolve_name(EVALUATIONS[task.key])(model, data, split, options)
    attention = dict(card.attention)
    for name, values in found.attention.items():
        attention[name] = values if options.outputs else {**attention.get(name, {}), **values}
    card = replace(
        card,
        recipe={**card.recipe, **found.chosen},
        figures={**card.figures, split: found.figures} if found.figures else card.figures,
        attention=attention,
        heads=found.heads or card.heads,
        opening={**card.opening, **found.opening},
    )
    write_card(card, folder / "card.json")
    return card, found.outputs


def choose_pointing_head(
    card: Card, split: str, measured: Mapping[Place, Mapping[str, float]]
) -> Place:
    """Return the head that points best on "val". For other splits, return the head on the card.

    Raises:
        InputError: "val" has not been measured yet.
    """
    if split == "val":
        return max(measured, key=lambda place: measured[place]["pointing"])
    check_chosen(card, split)
    assert card.pointing_head is not None
    return card.pointing_head


def check_chosen(card: Card, split: str) -> None:
    """Check that the pointing head has been chosen on "val".

    Raises:
        InputError: The head has not been chosen, and choosing it on this split would be unfair.
    """
    if split != "val" and card.pointing_head is None:
        raise InputError(
            'Measure the split "val" first: the head that points best is chosen on it, not on'
            f' "{split}".'
        )
