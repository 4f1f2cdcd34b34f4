"""The Transformer one token at a time: what greedy and beam search drive.

Shapes: B sentences, K beams a sentence, N = B * K rows sentence by sentence, M source items, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from areaviz.attention.multihead import AreaMemory
from areaviz.data.tokenizer import PAD, START, UNKNOWN
from areaviz.models.transformer import DecoderLayer, Transformer


def token_log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities over what may be written: never padding, the start or the unknown symbol."""
    logits = logits.float().clone()
    logits[..., [PAD, UNKNOWN, START]] = -torch.inf
    return logits.log_softmax(-1)


class TransformerStepper:
    """Decoding state of B source sentences (padded, [B, M]).

    Each step appends the areas that end at the new item, so nothing is computed twice; the areas of the
    source are pooled once and shared by all beams of a sentence.
    """

    def __init__(self, network: Transformer, source_BM: Tensor) -> None:
        padding_BM = source_BM == PAD
        padding = padding_BM if bool(padding_BM.any()) else None
        memory_BMW, _ = network.encode(source_BM, padding)
        self._network = network
        self._layers = [layer for layer in network.decoder if isinstance(layer, DecoderLayer)]
        self._sources = [layer.cross_attention.remember(memory_BMW, padding) for layer in self._layers]
        self._histories: list[AreaMemory | None] = [None] * len(self._layers)
        self._position = 0
        self._device = source_BM.device

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N]; log-probabilities of the next, [N, V]."""
        x_N1W = self._network.embed_at(tokens.to(self._device), self._position)
        for index, layer in enumerate(self._layers):
            x_N1W, self._histories[index] = layer.step(x_N1W, self._histories[index], self._sources[index])
        self._position += 1
        return token_log_probabilities(self._network.logits(x_N1W)[:, 0])

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows; the source memories stay, for rows never leave their sentence."""
        rows = rows.to(self._device)
        self._histories = [history and history.select(rows) for history in self._histories]
