"""What the backend asks of every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import torch

from areaviz.cards.card import Card
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import kind_of
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

WORDS = {
    "weigh": "weigh areas otherwise",
    "gate": "switch heads off",
    "hide": "hide items of its input",
}
"""Kinds of changes in words that follow "can"."""

OnStep = Callable[[int, int], None]
"""Called while a model works, with the steps done and the most there can be."""


class Model(Protocol):
    """A loaded checkpoint. A family of models is a class with `load` and this method."""

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Run requests that differ in their text, picture and given output only, together, and
        record each.

        Raises:
            InputError: an input this model cannot take.
        """


NOTHING: frozenset[str] = frozenset()
"""What a family takes that cannot be changed."""


def check_takes(request: Request, takes: frozenset[str], title: str) -> None:
    """InputError where a request asks what a model called `title` cannot do."""
    missing = {kind_of(change) for change in request.changes} - takes
    if missing:
        able = ", ".join(WORDS[kind] for kind in WORDS if kind in takes)
        words = " and ".join(WORDS[kind] for kind in WORDS if kind in missing)
        other = f"it can only {able}" if able else "remove the changes or choose another model"
        raise InputError(f"{title} cannot {words}; {other}.")
    if request.target is not None and "target" not in takes:
        raise InputError(f"{title} cannot be given an output to read; leave the output to it.")


class Family(Protocol):
    """A class of models, listed in MODELS."""

    @property
    def takes(self) -> frozenset[str]:
        """What a request may ask of it besides an input: kinds of changes (`KINDS`), and "target",
        a given output.
        """

    def load(
        self, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Model:
        """Read a checkpoint; `area_size` replaces the trained one where areas have no parameters.

        Raises:
            InputError: when this model's areas cannot be resized.
            BackendError: when a file is missing or damaged.
        """
