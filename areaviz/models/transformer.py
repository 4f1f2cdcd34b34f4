"""The encoder-decoder Transformer (Vaswani et al. 2017) with area attention in its first layers (Li et al. 2019).

Layer normalisation stands before each sublayer, embeddings are shared by source, target and output, and
positions are sinusoids, so there is no longest input.
Shapes: B batch, M source items, T target items, W model width, V vocabulary, H heads, Q queries, R areas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.multihead import AreaMemory, AreaOptions, MultiHeadAttention
from areaviz.data.tokenizer import PAD

SIZES: Mapping[str, Mapping[str, int]] = {
    "Tiny": {"layers": 2, "width": 128, "filter": 512, "heads": 4},
    "Small": {"layers": 2, "width": 256, "filter": 1024, "heads": 4},
    "Base": {"layers": 6, "width": 512, "filter": 2048, "heads": 8},
    "Big": {"layers": 6, "width": 1024, "filter": 4096, "heads": 16},
}
"""The sizes of Li et al. 2019, section 4.1.1, by name."""


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """What the network is made of.

    vocabulary: tokens. layers: of encoder and of decoder. width: of an item's vector. filter: hidden width
    of the feed-forward sublayer. heads: of every attention. dropout: on embeddings and sublayer outputs,
    0..1. area_size: most items an area holds, 1 for regular attention; area_layers: how many of the first
    layers have areas, in encoder self, decoder self and encoder-decoder attention. key_mode, value_mode:
    see `AreaOptions`.
    """

    vocabulary: int
    layers: int = 2
    width: int = 128
    filter: int = 512
    heads: int = 4
    dropout: float = 0.1
    area_size: int = 1
    area_layers: int = 2
    key_mode: str = "mean"
    value_mode: str = "sum"

    @classmethod
    def sized(cls, size: str, vocabulary: int, **options: Any) -> TransformerConfig:
        """A config of the paper's "Tiny", "Small", "Base" or "Big"; ValueError for another name."""
        if size not in SIZES:
            raise ValueError(f'There is no size "{size}"; choose one of {", ".join(SIZES)}.')
        return cls(vocabulary, **{**SIZES[size], **options})

    def areas(self, layer: int) -> AreaOptions:
        """How the given layer (0-based) sees its memory."""
        has_areas = layer < self.area_layers and self.area_size > 1
        return AreaOptions(self.area_size, self.key_mode, self.value_mode) if has_areas else AreaOptions()


@dataclass(frozen=True, slots=True)
class Pass:
    """One teacher-forced pass: logits [B, T, V] and area weights [B, H, Q, R], one tensor a layer, by site."""

    logits: Tensor
    weights: Mapping[str, list[Tensor]]


def positions(first: int, count: int, width: int, device: torch.device) -> Tensor:
    """Sinusoids of positions first..first+count-1: [count, width]."""
    rate = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
    angle = torch.arange(first, first + count, device=device)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], 1)


def _feed_forward(config: TransformerConfig) -> nn.Sequential:
    return nn.Sequential(nn.Linear(config.width, config.filter), nn.ReLU(), nn.Linear(config.filter, config.width))


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each normalised before and added to its input."""

    def __init__(self, config: TransformerConfig, layer: int, impl: str) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.width, config.heads, config.areas(layer), impl)
        self.feed_forward = _feed_forward(config)
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x_BMW: Tensor, padding_BM: Tensor | None, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        y = self.norms[0](x_BMW)
        context, weights = self.self_attention(y, y, padding_BM, need_weights=need_weights)
        x = x_BMW + self.dropout(context)
        return x + self.dropout(self.feed_forward(self.norms[1](x))), weights


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the encoder's output, and feed-forward."""

    def __init__(self, config: TransformerConfig, layer: int, impl: str) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.width, config.heads, config.areas(layer), impl)
        self.cross_attention = MultiHeadAttention(config.width, config.heads, config.areas(layer), impl)
        self.feed_forward = _feed_forward(config)
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x_BTW: Tensor, memory_BMW: Tensor, padding_BM: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        y = self.norms[0](x_BTW)
        context, self_weights = self.self_attention(y, y, is_causal=True, need_weights=need_weights)
        x = x_BTW + self.dropout(context)
        context, weights = self.cross_attention(self.norms[1](x), memory_BMW, padding_BM, need_weights=need_weights)
        x = x + self.dropout(context)
        return x + self.dropout(self.feed_forward(self.norms[2](x))), self_weights, weights

    def step(self, x_N1W: Tensor, history: AreaMemory | None, memory: AreaMemory) -> tuple[Tensor, AreaMemory]:
        """One position more: N rows share the memories of B sentences, N = B * beams, sentence by sentence."""
        y = self.norms[0](x_N1W)
        history = self.self_attention.extend(history, y)
        x = x_N1W + self.self_attention.ask(y, history)
        beams_BKW = self.norms[1](x).unflatten(0, (memory.key.shape[0], -1)).squeeze(2)
        x = x + self.cross_attention.ask(beams_BKW, memory).flatten(0, 1).unsqueeze(1)
        return x + self.feed_forward(self.norms[2](x)), history


class Transformer(nn.Module):
    """The whole network. impl: how area attention is computed, see `area_attention`."""

    def __init__(self, config: TransformerConfig, impl: str = "auto") -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        self.encoder = nn.ModuleList(EncoderLayer(config, layer, impl) for layer in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, layer, impl) for layer in range(config.layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        self._initialise()

    def forward(self, source_BM: Tensor, target_BT: Tensor) -> Tensor:
        """Logits [B, T, V] of the token after each token of `target_BT`, which begins with the start symbol."""
        return self.attend(source_BM, target_BT, need_weights=False).logits

    def attend(self, source_BM: Tensor, target_BT: Tensor, need_weights: bool = True) -> Pass:
        """The same, with the area weights of every site from the same pass."""
        padding_BM = source_BM == PAD
        padding = padding_BM if bool(padding_BM.any()) else None
        memory_BMW, encoder_self = self.encode(source_BM, padding, need_weights)
        y, decoder_self, encoder_decoder = self._embed(target_BT), [], []
        for layer in self.decoder:
            y, self_weights, weights = layer(y, memory_BMW, padding, need_weights)
            decoder_self.append(self_weights)
            encoder_decoder.append(weights)
        sites = {"encoder self": encoder_self, "decoder self": decoder_self, "encoder-decoder": encoder_decoder}
        return Pass(self.logits(y), sites if need_weights else {})

    def encode(
        self, source_BM: Tensor, padding_BM: Tensor | None, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """The encoder's output [B, M, W] and its weights, one tensor a layer."""
        x, weights = self._embed(source_BM), []
        for layer in self.encoder:
            x, layer_weights = layer(x, padding_BM, need_weights)
            weights.append(layer_weights)
        return self.encoder_norm(x), weights

    def embed_at(self, token_N: Tensor, position: int) -> Tensor:
        """One embedded token a row at a 0-based position: [N, 1, W]."""
        return self._embed(token_N[:, None], position)

    def logits(self, x_BTW: Tensor) -> Tensor:
        """Output logits [B, T, V]: the decoder's output times the shared embeddings."""
        return F.linear(self.decoder_norm(x_BTW), self.embedding.weight)

    def _embed(self, ids_BM: Tensor, first: int = 0) -> Tensor:
        x_BMW = self.embedding(ids_BM) * math.sqrt(self.config.width)
        embedded: Tensor = self.dropout(x_BMW + positions(first, ids_BM.shape[1], self.config.width, ids_BM.device))
        return embedded

    def _initialise(self) -> None:
        nn.init.normal_(self.embedding.weight, std=self.config.width**-0.5)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
