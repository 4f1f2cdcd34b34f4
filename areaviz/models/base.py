"""What the backend asks of every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import torch

from areaviz.trace.card import Card
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

OnStep = Callable[[int, int], None]
"""Called while a model works, with the steps done and the most there can be."""


class Model(Protocol):
    """A loaded checkpoint. A family of models is a class with `load` and this method."""

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Run requests that differ in their text and picture only, together, and record each.

        Raises:
            InputError: an input this model cannot take.
        """


class Family(Protocol):
    """A class of models, listed in MODELS."""

    def load(self, folder: Path, card: Card, device: torch.device, area_size: int | None = None) -> Model:
        """Read a checkpoint; `area_size` replaces the trained one where areas have no parameters.

        Raises:
            InputError: when this model's areas cannot be resized.
            BackendError: when a file is missing or damaged.
        """
