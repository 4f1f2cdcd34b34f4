"""A model's card: what it is, how it was trained, what it measured. Read from checkpoints/NAME/card.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Card:
    """What a reader may know about a model.

    name: its folder and the request's `model`. family: key of the model registry. title: for people.
    task: "translation". level: "character" or "token". mechanism: "regular" or "area". size: "Tiny",
    "Small", "Base" or "Big" (Li et al. 2019, section 4.1.1). pair: models of one pair differ in mechanism
    only. parameters: how many numbers were learned. trained_length: longest training input, in items.
    config, recipe, data: as trained. figures: test set -> measure -> value. attention: site -> measure ->
    value. history: one entry a validation: step, train_loss, valid_loss, seconds. limits, licence: prose.
    """

    name: str
    family: str
    title: str
    task: str
    level: str
    mechanism: str
    size: str
    pair: str
    parameters: int
    trained_length: int
    config: Mapping[str, Any]
    recipe: Mapping[str, Any]
    data: Mapping[str, Any]
    figures: Mapping[str, Mapping[str, Any]]
    attention: Mapping[str, Mapping[str, float]]
    history: tuple[Mapping[str, float], ...]
    code_version: str
    trained_on: str
    limits: str
    licence: str
    notes: tuple[str, ...] = field(default=())
