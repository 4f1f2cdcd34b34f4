"""Constrained decoding by a stepper that masks the tokens that a grammar forbids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import torch
from torch import Tensor

from areaviz.decoding.stepper import Stepper


class State(Protocol):
    """The state of a hypothesis in a grammar. States are immutable, so beams can share them."""

    def advance(self, token: int) -> Self:
        """Return the state after `token`."""

    def find_allowed_tokens(self) -> Tensor:
        """Return which tokens can follow: bool [vocabulary], true for at least one."""


class MaskedStepper:
    """A stepper that gives forbidden tokens a probability of zero.

    Allowed tokens keep the model's log-probabilities without normalisation, so the
    log-probabilities of masked and unmasked outputs can be compared.
    """

    def __init__(self, inner: Stepper, states: Sequence[State]) -> None:
        """Mask a stepper.

        Args:
            inner: the stepper.
            states: one state per sentence, before its first token.
        """
        self._inner, self._first = inner, states
        self._states: list[State] = []

    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token for each row.

        Returns:
            Log-probabilities of the next token, -inf for forbidden tokens.
        """
        log_probabilities_NV = self._inner.step(tokens)
        if not self._states:
            # The first token is the start symbol, which is in no grammar. Rows are grouped by
            # sentence.
            width = len(tokens) // len(self._first)
            self._states = [state for state in self._first for _ in range(width)]
        else:
            written = zip(self._states, tokens.tolist(), strict=True)
            self._states = [state.advance(token) for state, token in written]
        allowed_NV = torch.stack([state.find_allowed_tokens() for state in self._states])
        forbidden_NV = ~allowed_NV.to(log_probabilities_NV.device)
        return log_probabilities_NV.masked_fill(forbidden_NV, -torch.inf)

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows."""
        self._inner.select(rows)
        self._states = [self._states[row] for row in rows.tolist()]
