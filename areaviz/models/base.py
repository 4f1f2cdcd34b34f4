"""The interface of models that backends use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch

from areaviz.cards.card import Card
from areaviz.trace.changes import name_kind
from areaviz.trace.derived import Logits
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

OnStep = Callable[[int, int], None]
"""Callback for progress, called with the number of steps done and the largest possible number."""


class Model(Protocol):
    """A loaded checkpoint. A model family is a class with `load` that returns objects like this."""

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Run requests together and record a trace for each.

        The requests may differ only in text, picture and given output.

        Raises:
            InputError: if this model cannot handle an input.
        """


@runtime_checkable
class ExplainingModel(Protocol):
    """A model that can explain why an area has its weight."""

    def logits(
        self, request: Request, site: str, layer: int, on_step: OnStep | None = None
    ) -> Logits:
        """Return the terms of the logits of a layer (0-based), in the pass that `trace` records.

        Raises:
            InputError: for the reasons of `trace`, or if the layer does not compare queries with
                keys, or compares them only with keys of whole areas.
        """


def check_abilities(request: Request, can: frozenset[str], title: str) -> None:
    """Check that a request asks only for what a model can do.

    Args:
        request: the request.
        can: the model's abilities, see `Card.can`.
        title: the model's name for the message.

    Raises:
        InputError: if the request asks for something else.
    """
    words = {
        "weigh": "reweight areas",
        "gate": "switch heads off",
        "hide": "hide items of its input",
        "share": "sharpen, smooth or window its attention",
    }
    missing = {name_kind(change) for change in request.changes} - can
    if missing:
        able = ", ".join(words[kind] for kind in words if kind in can)
        asked = " and ".join(words[kind] for kind in words if kind in missing)
        other = f"It can only {able}" if able else "Remove the changes or choose another model"
        raise InputError(f"{title} cannot {asked}. {other}.")
    if request.target is not None and "target" not in can:
        raise InputError(f"{title} does not accept a given output. Leave the output out.")
    if request.attribution and "attribution" not in can:
        raise InputError(
            f"{title} does not support attribution by gradients. Leave attribution out."
        )


class Family(Protocol):
    """A class of models, listed in MODELS."""

    def load(
        self, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Model:
        """Load a checkpoint.

        `area_size` replaces the trained largest area. This works only if no parameters depend on
        areas.

        Raises:
            InputError: if the areas of this model cannot be resized.
            BackendError: if a file is missing or damaged.
        """
