"""How a card gets its figures: a checkpoint is measured on a split by what its task names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from areaviz.cards.card import POINTING_HEAD, Card, Opening, read_card, write_card
from areaviz.cards.tasks import TASKS, load
from areaviz.models import MODELS
from areaviz.models.device import choose_device
from areaviz.trace.errors import InputError
from areaviz.trace.limits import choice

Place = tuple[int, int]
"""Layer and head, from 0."""


@dataclass(frozen=True, slots=True)
class Options:
    """How models that write are measured."""

    # width; 1 is greedy
    beam: int = 4
    # examples that attention is measured over, 0 for none
    traces: int = 200
    # whether anything is written and scored; attention alone is measured without
    outputs: bool = True

    @property
    def method(self) -> str:
        """The decoding, as in a request."""
        return "greedy" if self.beam == 1 else "beam"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a task measured of a model on one split."""

    # measure -> value, for the split's entry of `Card.figures`
    figures: Mapping[str, Any]
    # entry of `Card.attention` -> measure -> value
    attention: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # the head that points best
    pointing_head: Place | None = None
    # what the model wrote
    outputs: Sequence[str] = ()
    # entry of `Card.recipe` that validation chose -> value
    chosen: Mapping[str, Any] = field(default_factory=dict)
    # what every head does, for `Card.heads`
    heads: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # site -> what pages open on there, where validation chose it
    opening: Mapping[str, Opening] = field(default_factory=dict)


def evaluate(
    folder: Path, data: Path, split: str, options: Options, device: str = "auto"
) -> tuple[Card, Sequence[str]]:
    """Measure a checkpoint, write the figures on its card, and return it with what was written.

    Raises:
        FileNotFoundError: the corpus is not in `data`.
        BackendError: the checkpoint cannot be loaded.
        InputError: the task has no such split, or the split needs another to be measured first.
    """
    card = read_card(folder / "card.json")
    task = TASKS[card.task]
    choice("split", split, task.splits)
    model = MODELS[card.family].load(folder, card, choose_device(device))
    found: Measured = load(task.evaluate)(model, data, split, options)
    recipe = {**card.recipe, **found.chosen}
    if found.pointing_head is not None:
        recipe[POINTING_HEAD] = list(found.pointing_head)
    attention = dict(card.attention)
    for name, values in found.attention.items():
        attention[name] = values if options.outputs else {**attention.get(name, {}), **values}
    card = replace(
        card,
        recipe=recipe,
        figures={**card.figures, split: found.figures} if found.figures else card.figures,
        attention=attention,
        heads=found.heads or card.heads,
        opening={**card.opening, **found.opening},
    )
    write_card(card, folder / "card.json")
    return card, found.outputs


def pointing_head(card: Card, split: str, measured: Mapping[Place, Mapping[str, float]]) -> Place:
    """The head that points best on "val"; on other splits the one that the card has from there.

    Raises:
        InputError: "val" was not measured yet.
    """
    if split == "val":
        return max(measured, key=lambda place: measured[place]["pointing"])
    check_chosen(card, split)
    assert card.pointing_head is not None
    return card.pointing_head


def check_chosen(card: Card, split: str) -> None:
    """InputError for a split whose head would have to be chosen on it."""
    if split != "val" and card.pointing_head is None:
        raise InputError(
            'Measure the split "val" first: the head that points best is chosen there, not on'
            f' "{split}".'
        )
