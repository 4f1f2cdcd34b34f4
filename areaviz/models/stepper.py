"""Writing one token at a time: the Transformer as greedy and beam search drive it, and their
outputs.

Shapes: B examples, K beams an example, N = B * K rows example by example, M memory items, W width,
V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from areaviz.attention.interventions import UNCHANGED, Changed, LayerInterventions
from areaviz.attention.memory import AreaMemory, Remembered
from areaviz.data.tokenizer import END, PAD, START, UNKNOWN
from areaviz.decoding.beam import beam_search
from areaviz.decoding.greedy import greedy
from areaviz.decoding.stepper import Hypothesis, Stepper
from areaviz.models.base import OnStep

LENGTH_PENALTY = 0.6
"""Of beam search, as in Vaswani et al. 2017, section 6.1."""


def written(
    stepper: Stepper, limits: Sequence[int], method: str, beam: int, on_step: OnStep | None
) -> list[Hypothesis]:
    """The best output of every example, of at most `limits` items each; method:
    "greedy" or "beam".
    """
    watched = Watched(stepper, max(limits), on_step)
    if method == "greedy":
        return greedy(watched, START, END, limits)
    return [best[0] for best in beam_search(watched, START, END, limits, beam, LENGTH_PENALTY)]


def token_log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities over what may be written: never padding, the start or the
    unknown symbol.
    """
    logits = logits.float().clone()
    logits[..., [PAD, UNKNOWN, START]] = -torch.inf
    return logits.log_softmax(-1)


class Steps(Protocol):
    """A layer of a decoder."""

    def step(
        self,
        x_N1W: Tensor,
        history: AreaMemory | None,
        memory: Remembered,
        own: LayerInterventions | None = None,
    ) -> tuple[Tensor, AreaMemory]:
        """One position more: its output and the longer history; own: what is done otherwise in
        attending to that.
        """


class Decodes(Protocol):
    """The half of a network that writes."""

    @property
    def layers(self) -> Sequence[Steps]:
        """The decoder's layers, first to last."""

    def embed_at(self, token_N: Tensor, position: int) -> Tensor:
        """One embedded token a row at a 0-based position: [N, 1, W]."""

    def logits(self, x_BTW: Tensor) -> Tensor:
        """Output logits [B, T, V]."""


class TransformerStepper:
    """Decoding state over what each layer attends to besides what was written, made once.

    Each step appends the areas that end at the new item, so nothing is computed twice; what the
    layers attend to is shared by all beams of an example. changed: what is done otherwise; of what
    the memories are asked they know themselves.
    """

    def __init__(
        self,
        network: Decodes,
        memories: Sequence[Remembered],
        device: torch.device,
        changed: Changed = UNCHANGED,
    ) -> None:
        self._network, self._memories = network, memories
        self._own = [changed.at("decoder self", layer) for layer in range(len(memories))]
        self._histories: list[AreaMemory | None] = [None] * len(memories)
        self._position = 0
        self._device = device

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N]; log-probabilities of the next, [N, V]."""
        x_N1W = self._network.embed_at(tokens.to(self._device), self._position)
        for index, layer in enumerate(self._network.layers):
            memory, own = self._memories[index], self._own[index]
            x_N1W, self._histories[index] = layer.step(x_N1W, self._histories[index], memory, own)
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
