"""What decoding asks of a model, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


class Stepper(Protocol):
    """A batch of growing hypotheses: is fed the last token of each, tells how likely every next one
    is.

    Rows are grouped by sentence: with `width` hypotheses a sentence, row = sentence * width + rank.
    The number of rows and the sentence of a row never change, so whatever depends on the sentence
    alone (the encoded source and its keys and values) is indexed by row // width and is never
    reordered.
    """

    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token a row and extend the state by it.

        tokens: int64 [rows], on the CPU (the stepper moves it to where it works); first the start
        symbol.
        Returns float [rows, vocabulary], natural log-probabilities of the next token, on any
        device. Rows of finished hypotheses go on being fed; what is returned for them is not looked
        at.
        """

    def select(self, rows: Tensor) -> None:
        """Replace the state of row i by that of `rows[i]`, a row of the same sentence: int64
        [rows], on the CPU.

        Only what grew with the hypotheses (self-attention caches, recurrent states) is to be
        reordered.
        """


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One decoded sentence.

    ids: without the start symbol, with the end symbol if it was produced. log_probability: natural,
    of `ids` given the source, no length penalty. finished: whether the end symbol was produced
    within the limit.
    """

    ids: tuple[int, ...]
    log_probability: float
    finished: bool


def check_limits(limits: Sequence[int]) -> None:
    """Every sentence may produce at least one token.

    Raises:
        ValueError: when a limit is below one.
    """
    if any(limit < 1 for limit in limits):
        raise ValueError(f"Every length limit must be at least 1 token, got {min(limits)}.")
