"""What the backend asks of every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch

from areaviz.cards.card import Card
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import kind_of
from areaviz.trace.logits import Logits
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

OnStep = Callable[[int, int], None]
"""Called while a model works, with the steps done and the most there can be."""


class Model(Protocol):
    """A loaded checkpoint. A family of models is a class with `load` and this method."""

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Run requests together that differ in text, picture and given output only; record each.

        Raises:
            InputError: an input this model cannot take.
        """


@runtime_checkable
class Explaining(Protocol):
    """A model that can say why an area has its weight."""

    def logits(
        self, request: Request, site: str, layer: int, on_step: OnStep | None = None
    ) -> Logits:
        """Return the terms of the logits of a layer (0-based), in the pass that `trace` records.

        Raises:
            InputError: as `trace`, or the layer does not compare queries with keys, or only with
                those of whole areas.
        """


def check_can(request: Request, can: frozenset[str], title: str) -> None:
    """InputError where a request asks what a model cannot do; can: see `Card.can`."""
    words = {
        "weigh": "weigh areas otherwise",
        "gate": "switch heads off",
        "hide": "hide items of its input",
        "share": "sharpen, smooth or window its attention",
    }
    missing = {kind_of(change) for change in request.changes} - can
    if missing:
        able = ", ".join(words[kind] for kind in words if kind in can)
        asked = " and ".join(words[kind] for kind in words if kind in missing)
        other = f"it can only {able}" if able else "remove the changes or choose another model"
        raise InputError(f"{title} cannot {asked}; {other}.")
    if request.target is not None and "target" not in can:
        raise InputError(f"{title} cannot be given an output to read; leave the output to it.")
    if request.attribution and "attribution" not in can:
        raise InputError(
            f"{title} cannot say by gradients what its output depends on; leave attribution out."
        )


class Family(Protocol):
    """A class of models, listed in MODELS."""

    def load(
        self, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Model:
        """Read a checkpoint; `area_size` replaces the trained one where areas have no parameters.

        Raises:
            InputError: when this model's areas cannot be resized.
            BackendError: when a file is missing or damaged.
        """
