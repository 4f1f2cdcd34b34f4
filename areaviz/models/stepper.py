"""The Transformer one token at a time: what greedy and beam search drive.

Shapes: B examples, K beams an example, N = B * K rows example by example, M memory items, W width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from areaviz.attention.multihead import AreaMemory
from areaviz.data.tokenizer import PAD, START, UNKNOWN
from areaviz.decoding.stepper import Stepper
from areaviz.models.base import OnStep
from areaviz.models.layers import DecoderLayer


def token_log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities over what may be written: never padding, the start or the unknown symbol."""
    logits = logits.float().clone()
    logits[..., [PAD, UNKNOWN, START]] = -torch.inf
    return logits.log_softmax(-1)


class Decodes(Protocol):
    """The half of a network that writes."""

    @property
    def layers(self) -> Sequence[DecoderLayer]:
        """The decoder's layers, first to last."""

    def embed_at(self, token_N: Tensor, position: int) -> Tensor:
        """One embedded token a row at a 0-based position: [N, 1, W]."""

    def logits(self, x_BTW: Tensor) -> Tensor:
        """Output logits [B, T, V]."""


class TransformerStepper:
    """Decoding state over the encoder's output [B, M, W] with its padding [B, M] (True = padding) or None.

    Each step appends the areas that end at the new item, so nothing is computed twice; the areas of the
    memory are pooled once and shared by all beams of an example.
    """

    def __init__(self, network: Decodes, memory_BMW: Tensor, padding_BM: Tensor | None = None) -> None:
        self._network = network
        self._sources = [layer.cross_attention.remember(memory_BMW, padding_BM) for layer in network.layers]
        self._histories: list[AreaMemory | None] = [None] * len(self._sources)
        self._position = 0
        self._device = memory_BMW.device

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N]; log-probabilities of the next, [N, V]."""
        x_N1W = self._network.embed_at(tokens.to(self._device), self._position)
        for index, layer in enumerate(self._network.layers):
            x_N1W, self._histories[index] = layer.step(x_N1W, self._histories[index], self._sources[index])
        self._position += 1
        return token_log_probabilities(self._network.logits(x_N1W)[:, 0])

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows; the source memories stay, for rows never leave their example."""
        rows = rows.to(self._device)
        self._histories = [history and history.select(rows) for history in self._histories]


@dataclass(slots=True)
class Watched:
    """A stepper that reports its progress."""

    inner: Stepper
    most: int
    on_step: OnStep | None
    done: int = 0

    def step(self, tokens: Tensor) -> Tensor:
        self.done += 1
        if self.on_step is not None:
            self.on_step(self.done, self.most)
        return self.inner.step(tokens)

    def select(self, rows: Tensor) -> None:
        self.inner.select(rows)
