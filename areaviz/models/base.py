"""What the backend asks of every model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from areaviz.trace.record import Trace
from areaviz.trace.request import Request

OnStep = Callable[[int, int], None]
"""Called while a model works, with the steps done and the most there can be."""


class Model(Protocol):
    """A loaded checkpoint. A family of models is a class with `load` and this method, listed in MODELS."""

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Run requests that differ in their text only, together, and record each.

        Raises:
            InputError: an input this model cannot take.
        """
