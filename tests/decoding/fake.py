"""Steppers without a model, with known probabilities.

The probabilities depend on the sentence and on all previous tokens.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import torch
from torch import Tensor

START, END = 0, 1


def next_log_probabilities(sentence: int, history: Sequence[int], vocabulary: int) -> list[float]:
    """Return a fixed random distribution for every sentence and history.

    Some continuations are impossible.
    """
    chance = random.Random(f"{sentence} {list(history)}")
    weights = [math.exp(chance.gauss(0, 1.5)) * (chance.random() < 0.9) for _ in range(vocabulary)]
    weights[chance.randrange(vocabulary)] += 0.1
    return [math.log(weight / sum(weights)) if weight else -math.inf for weight in weights]


class FakeStepper:
    """A stepper that keeps the history of every row as its state.

    `sentences` has one number for every `width` rows.
    """

    def __init__(self, sentences: Sequence[int], vocabulary: int = 4, width: int = 1) -> None:
        self.sentences, self.vocabulary, self.width = list(sentences), vocabulary, width
        self.histories: list[list[int]] = [[] for _ in range(len(sentences) * width)]
        self.steps = 0
        self.selections = 0

    def step(self, tokens: Tensor) -> Tensor:
        assert tokens.shape == (len(self.histories),) and tokens.dtype == torch.int64
        self.steps += 1
        for history, token in zip(self.histories, tokens.tolist(), strict=True):
            history.append(token)
        rows = [
            next_log_probabilities(self.sentences[row // self.width], history, self.vocabulary)
            for row, history in enumerate(self.histories)
        ]
        return torch.tensor(rows, dtype=torch.float64)

    def select(self, rows: Tensor) -> None:
        self.selections += 1
        assert [row // self.width for row in rows.tolist()] == [
            row // self.width for row in range(len(rows))
        ]
        self.histories = [list(self.histories[row]) for row in rows.tolist()]


class TableStepper:
    """A Markov table of probabilities [last token, next token], identical for every row."""

    def __init__(self, probabilities: Sequence[Sequence[float]]) -> None:
        self.table = torch.tensor(probabilities, dtype=torch.float64).log()
        self.steps = 0

    def step(self, tokens: Tensor) -> Tensor:
        self.steps += 1
        return self.table[tokens]

    def select(self, rows: Tensor) -> None:
        """Do nothing, because the state is only the last token, which every step gets."""
