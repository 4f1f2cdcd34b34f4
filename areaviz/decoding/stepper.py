"""The interface of models that decoding uses, and the result of decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


class Stepper(Protocol):
    """A batch of growing hypotheses, which predicts the next token of each.

    Rows are grouped by sentence: with `width` hypotheses per sentence, row = sentence * width +
    rank. The number of rows and the sentence of a row never change. Values that depend only on the
    sentence (the encoded source and its keys and values) are therefore indexed by row // width and
    never reordered.
    """

    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token for each row and extend the state by it.

        Args:
            tokens: int64 [rows], on the CPU (the stepper moves it to its device). The first token
                is the start symbol. Rows of finished hypotheses are still fed.

        Returns:
            Natural log-probabilities of the next token, float [rows, vocabulary] on any device.
            Those of finished hypotheses are ignored.
        """

    def select(self, rows: Tensor) -> None:
        """Replace the state of row i by that of `rows[i]`, a row of the same sentence.

        Only values that grow with the hypotheses (self-attention caches, recurrent states) are
        reordered.

        Args:
            rows: int64 [rows], on the CPU.
        """


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A decoded sentence."""

    # Token ids without the start symbol, with the end symbol if it was generated.
    ids: tuple[int, ...]
    # Natural log-probability of `ids` given the source, without a length penalty.
    log_probability: float
    # True if the end symbol was generated within the limit.
    finished: bool


def check_limits(limits: Sequence[int]) -> None:
    """Check that every sentence may have at least one token.

    Raises:
        ValueError: if a limit is below one.
    """
    if any(limit < 1 for limit in limits):
        raise ValueError(f"Every length limit must be at least 1 token, got {min(limits)}.")
