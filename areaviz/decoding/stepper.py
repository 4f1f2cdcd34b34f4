"""What decoding needs of a model, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


class Stepper(Protocol):
    """A batch of growing hypotheses: from the last token of each, how likely every next one is.

    Rows are grouped by sentence: with `width` hypotheses a sentence, row = sentence * width + rank.
    The number of rows and the sentence of a row never change, so whatever depends on the sentence
    alone (the encoded source and its keys and values) is indexed by row // width and is never
    reordered.
    """

    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token for each row and extend the state by it.

        Args:
            tokens: int64 [rows], on the CPU (the stepper moves it to where it works); first the
                start symbol. Rows of finished hypotheses are still fed.

        Returns:
            Natural log-probabilities of the next token, float [rows, vocabulary] on any device;
            those of finished hypotheses are ignored.
        """

    def select(self, rows: Tensor) -> None:
        """Replace the state of row i by that of `rows[i]`, a row of the same sentence.

        Only what grew with the hypotheses (self-attention caches, recurrent states) is reordered.
        `rows` is int64 [rows], on the CPU.
        """


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One decoded sentence."""

    # Without the start symbol, with the end symbol if it was produced.
    ids: tuple[int, ...]
    # Natural, of `ids` given the source, without a length penalty.
    log_probability: float
    # Whether the end symbol was produced within the limit.
    finished: bool


def check_limits(limits: Sequence[int]) -> None:
    """Every sentence may produce at least one token.

    Raises:
        ValueError: when a limit is below one.
    """
    if any(limit < 1 for limit in limits):
        raise ValueError(f"Every length limit must be at least 1 token, got {min(limits)}.")
