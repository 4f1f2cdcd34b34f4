"""The decoder of every Transformer here: all tokens at once in training, one at a time in writing.

Embeddings are shared by what a network reads, writes and puts out.
Shapes: B examples, K beams an example, N = B * K rows example by example, M memory items, T target
items, W model width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.attention.memory import AreaMemory, Remembered
from areaviz.data.tokenizer import END, PAD, START, UNKNOWN
from areaviz.decoding.beam import search_by_alpha
from areaviz.decoding.greedy import greedy
from areaviz.decoding.stepper import Hypothesis, Stepper
from areaviz.models.base import OnStep
from areaviz.models.layers import BaseDecoderLayer, positions
from areaviz.models.network import Pass, WritingNetwork

LENGTH_PENALTY = 0.6
"""Of beam search where the card has none of its own; as in Vaswani et al. 2017, section 6.1."""


class TransformerBase(WritingNetwork):
    """The base of the Transformers; a subclass makes the parts under these names."""

    embedding: nn.Embedding
    decoder: nn.ModuleList
    dropout: nn.Dropout

    @property
    def layers(self) -> list[BaseDecoderLayer]:
        """The decoder's layers, first to last."""
        return [layer for layer in self.decoder if isinstance(layer, BaseDecoderLayer)]

    def normed(self, x_BTW: Tensor) -> Tensor:
        """The decoder's output after its last normalisation."""
        raise NotImplementedError

    def embed(self, ids_BM: Tensor, first: int = 0) -> Tensor:
        """Embedded tokens [B, M, W] with their positions, counted from `first`."""
        width = self.embedding.embedding_dim
        x_BMW = self.embedding(ids_BM) * math.sqrt(width)
        places_MW = positions(first, ids_BM.shape[1], width, ids_BM.device)
        embedded: Tensor = self.dropout(x_BMW + places_MW)
        return embedded

    def logits(self, x_BTW: Tensor) -> Tensor:
        """Output logits [B, T, V]: the decoder's output times the shared embeddings."""
        return F.linear(self.normed(x_BTW), self.embedding.weight)

    def decode(
        self,
        memory_BMW: Tensor,
        padding_BM: Tensor | None,
        target_NT: Tensor,
        need_weights: bool,
        changed: Changed = UNCHANGED,
    ) -> Pass:
        """All tokens at once over one memory, with the weights of its two sites if asked for."""
        y = self.embed(target_NT)
        weights: dict[str, list[Tensor]] = {"decoder self": [], "encoder-decoder": []}
        for number, layer in enumerate(self.decoder):
            own, across = (changed.at(site, number) for site in weights)
            y, *layer_weights = layer(y, memory_BMW, padding_BM, need_weights, own, across)
            for site, found in zip(weights, layer_weights, strict=True):
                weights[site].append(found)
        return Pass(self.logits(y), weights if need_weights else {})

    def stepper(
        self, memory_BMW: Tensor, padding_BM: Tensor | None, changed: Changed
    ) -> TransformerStepper:
        """The decoder over one memory, one token at a time."""
        memories = []
        for number, layer in enumerate(self.layers):
            across = changed.at("encoder-decoder", number)
            memories.append(layer.cross_attention.remember(memory_BMW, padding_BM, across))
        return TransformerStepper(self, memories, memory_BMW.device, changed)


class TransformerStepper:
    """The state of decoding, over what each layer attends to besides what was written.

    Each step appends the areas that end at the new item, so nothing is computed twice; what the
    layers attend to is made once and shared by all beams of an example.
    """

    def __init__(
        self,
        network: TransformerBase,
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
        x_N1W = self._network.embed(tokens.to(self._device)[:, None], self._position)
        for index, layer in enumerate(self._network.layers):
            memory, own = self._memories[index], self._own[index]
            x_N1W, self._histories[index] = layer.step(x_N1W, self._histories[index], memory, own)
        self._position += 1
        return token_log_probabilities(self._network.logits(x_N1W)[:, 0])

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows; the memories stay, for rows never leave their example."""
        rows = rows.to(self._device)
        self._histories = [history and history.select(rows) for history in self._histories]


def search(
    stepper: Stepper,
    limits: Sequence[int],
    method: str,
    beam: int,
    on_step: OnStep | None,
    penalties: Sequence[float] = (LENGTH_PENALTY,),
) -> list[list[Hypothesis]]:
    """The best output of every example, of at most `limits` items each, "greedy" or by "beam".

    Returns:
        For each length penalty one hypothesis an example; greedy ones are the same for all.
    """
    reporting = Reporting(stepper, max(limits), on_step)
    # Penalties weigh beams of unlike lengths against each other, and greedy decoding has one.
    if method == "greedy":
        return [greedy(reporting, START, END, limits)] * len(penalties)
    found = []
    for ranked in search_by_alpha(reporting, START, END, limits, beam, penalties):
        found.append([hypotheses[0] for hypotheses in ranked])
    return found


def token_log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities of what may be written: all but padding, start and unknown symbol."""
    # In single precision, as small differences decide between beams; a copy, as it is changed.
    logits = logits.float().clone()
    logits[..., [PAD, UNKNOWN, START]] = -torch.inf
    return logits.log_softmax(-1)


@dataclass(slots=True)
class Reporting:
    """A stepper that reports its progress: the steps done, of at most `most`."""

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
