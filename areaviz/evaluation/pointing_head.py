"""The head whose attention points best, which is chosen on "val" alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from areaviz.cards.card import Card
from areaviz.trace.errors import InputError

Place = tuple[int, int]
"""Layer and head, from 0."""
_NAME = "pointing head"


def pointing_head(card: Card, split: str, measured: Mapping[Place, Mapping[str, float]]) -> Place:
    """The best of the measured on "val"; else the one that the card says was best there.

    Raises:
        InputError: the card says none, as "val" was not measured yet.
    """
    if split == "val":
        return max(measured, key=lambda place: measured[place]["pointing"])
    check_chosen(card, split)
    layer, head = card.recipe[_NAME]
    return int(layer), int(head)


def check_chosen(card: Card, split: str) -> None:
    """Refuse to measure a split whose head would have to be chosen on it; InputError says what to
    do.
    """
    if split != "val" and _NAME not in card.recipe:
        raise InputError(
            'Measure the split "val" first: the head that points best is chosen there, not on'
            f' "{split}".'
        )


def noted(recipe: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """A card's recipe with the chosen head."""
    return {**recipe, _NAME: list(place)}
