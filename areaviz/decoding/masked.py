"""Decoding that masks what cannot follow: a stepper over another one, with a grammar's states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import torch
from torch import Tensor

from areaviz.decoding.stepper import Stepper


class State(Protocol):
    """What a hypothesis may go on with; states are never changed, so that beams can share them."""

    def after(self, token: int) -> Self:
        """The state once `token` is written."""

    def allowed(self) -> Tensor:
        """Which tokens can follow: bool [vocabulary], true for at least one."""


class MaskedStepper:
    """A stepper whose forbidden tokens have no probability.

    The others keep the model's own log-probabilities, so those of masked and unmasked outputs
    compare.
    """

    def __init__(self, inner: Stepper, states: Sequence[State]) -> None:
        """Mask a stepper; `states` has one state a sentence, before its first token."""
        self._inner, self._first = inner, states
        self._states: list[State] = []

    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token for each row; log-probabilities of the next, -inf for forbidden ones."""
        log_probabilities_NV = self._inner.step(tokens)
        if not self._states:
            # The first token is the start symbol, which no grammar knows; rows lie by sentence.
            width = len(tokens) // len(self._first)
            self._states = [state for state in self._first for _ in range(width)]
        else:
            written = zip(self._states, tokens.tolist(), strict=True)
            self._states = [state.after(token) for state, token in written]
        allowed_NV = torch.stack([state.allowed() for state in self._states])
        forbidden_NV = ~allowed_NV.to(log_probabilities_NV.device)
        return log_probabilities_NV.masked_fill(forbidden_NV, -torch.inf)

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows."""
        self._inner.select(rows)
        self._states = [self._states[row] for row in rows.tolist()]
