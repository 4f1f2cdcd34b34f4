"""The decoder of all Transformers, which is parallel in training and stepwise in generation.

Source, target and output share their embeddings.

Shapes: B examples, K beams per example, N = B * K rows example by example, M memory items, T target
items, W model width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.attention.multihead import AreaMemory, CachedMemory
from areaviz.data.tokenizer import END, PAD, START, UNKNOWN
from areaviz.decoding.beam import search_by_alpha
from areaviz.decoding.greedy import greedy_search
from areaviz.decoding.stepper import Hypothesis, Stepper
from areaviz.models.base import OnStep
from areaviz.models.layers import BaseDecoderLayer, make_sinusoidal_positions
from areaviz.models.network import GenerationNetwork, Pass

LENGTH_PENALTY = 0.6
"""Length penalty of beam search if the card has none (Vaswani et al. 2017, section 6.1)."""


class TransformerBase(GenerationNetwork):
    """The base of the Transformers. A subclass assigns the attributes listed here."""

    embedding: nn.Embedding
    decoder: nn.ModuleList
    dropout: nn.Dropout

    @property
    def layers(self) -> list[BaseDecoderLayer]:
        """The decoder's layers, first to last."""
        return [layer for layer in self.decoder if isinstance(layer, BaseDecoderLayer)]

    def normalise_output(self, x_BTW: Tensor) -> Tensor:
        """Apply the decoder's last normalisation."""
        raise NotImplementedError

    def embed(self, ids_BM: Tensor, first: int = 0) -> Tensor:
        """Embed tokens with their positions, counted from `first`: [B, M, W]."""
        width = self.embedding.embedding_dim
        x_BMW = self.embedding(ids_BM) * math.sqrt(width)
        places_MW = make_sinusoidal_positions(first, ids_BM.shape[1], width, ids_BM.device)
        embedded: Tensor = self.dropout(x_BMW + places_MW)
        return embedded

    def compute_logits(self, x_BTW: Tensor) -> Tensor:
        """Compute logits [B, T, V]: the decoder's output times the shared embeddings."""
        return F.linear(self.normalise_output(x_BTW), self.embedding.weight)

    def decode(
        self,
        memory_BMW: Tensor,
        padding_BM: Tensor | None,
        target_NT: Tensor,
        need_weights: bool,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Decode all tokens at once over one memory, with weights if `need_weights`."""
        y = self.embed(target_NT)
        weights: dict[str, list[Tensor]] = {"decoder self": [], "encoder-decoder": []}
        for number, layer in enumerate(self.decoder):
            own, across = (changed.get_layer_changes(site, number) for site in weights)
            y, *layer_weights = layer(y, memory_BMW, padding_BM, need_weights, own, across)
            for site, found in zip(weights, layer_weights, strict=True):
                weights[site].append(found)
        return Pass(self.compute_logits(y), weights if need_weights else {})

    def make_stepper(
        self, memory_BMW: Tensor, padding_BM: Tensor | None, changed: NetworkInterventions
    ) -> TransformerStepper:
        """Return the decoder over one memory, which writes one token at a time."""
        memories = []
        for number, layer in enumerate(self.layers):
            across = changed.get_layer_changes("encoder-decoder", number)
            memories.append(layer.cross_attention.build_memory(memory_BMW, padding_BM, across))
        return TransformerStepper(self, memories, memory_BMW.device, changed)


class TransformerStepper:
    """The state of decoding, with the history of each layer and the memories that layers attend to.

    Each step appends the areas that end at the new item, so nothing is computed twice. The memories
    are computed once and shared by all beams of an example.
    """

    def __init__(
        self,
        network: TransformerBase,
        memories: Sequence[CachedMemory],
        device: torch.device,
        changed: NetworkInterventions = UNCHANGED,
    ) -> None:
        self._network, self._memories = network, memories
        self._own = [
            changed.get_layer_changes("decoder self", layer) for layer in range(len(memories))
        ]
        self._histories: list[AreaMemory | None] = [None] * len(memories)
        self._position = 0
        self._device = device

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N].

        Returns:
            Log-probabilities of the next token, [N, V].
        """
        x_N1W = self._network.embed(tokens.to(self._device)[:, None], self._position)
        for index, layer in enumerate(self._network.layers):
            memory, own = self._memories[index], self._own[index]
            x_N1W, self._histories[index] = layer.step(x_N1W, self._histories[index], memory, own)
        self._position += 1
        return compute_token_log_probabilities(self._network.compute_logits(x_N1W)[:, 0])

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows. The memories stay, because rows never leave their example."""
        rows = rows.to(self._device)
        self._histories = [history and history.select(rows) for history in self._histories]


def search_outputs(
    stepper: Stepper,
    limits: Sequence[int],
    method: str,
    beam: int,
    on_step: OnStep | None,
    penalties: Sequence[float] = (LENGTH_PENALTY,),
) -> list[list[Hypothesis]]:
    """Generate the best output of every example.

    Args:
        stepper: the decoder.
        limits: largest number of items of each output.
        method: "greedy" or "beam".
        beam: beam width.
        on_step: called at each step.
        penalties: length penalties.

    Returns:
        One hypothesis per example for each length penalty. Greedy decoding gives equal results for
        all penalties.
    """
    reporting = ReportingStepper(stepper, max(limits), on_step)
    # Penalties compare beams of different lengths, and greedy decoding has only one beam.
    if method == "greedy":
        return [greedy_search(reporting, START, END, limits)] * len(penalties)
    found = []
    for ranked in search_by_alpha(reporting, START, END, limits, beam, penalties):
        found.append([hypotheses[0] for hypotheses in ranked])
    return found


def compute_token_log_probabilities(logits: Tensor) -> Tensor:
    """Return log-probabilities of the tokens. Padding, start and unknown symbol get -inf."""
    # Single precision is used because small differences decide between beams. The logits are copied
    # because they are changed.
    logits = logits.float().clone()
    logits[..., [PAD, UNKNOWN, START]] = -torch.inf
    return logits.log_softmax(-1)


@dataclass(slots=True)
class ReportingStepper:
    """A stepper that reports its progress as the number of steps done, out of at most `most`."""

    inner: Stepper
    most: int
    on_step: OnStep | None
    done: int = 0

    def step(self, tokens: Tensor) -> Tensor:
        """Report a step and feed the last token of every row."""
        self.done += 1
        if self.on_step is not None:
            self.on_step(self.done, self.most)
        return self.inner.step(tokens)

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows."""
        self.inner.select(rows)
