"""The captioning Transformer: a grid of picture features is encoded with 2-D areas and described
word by word.

Li et al. 2019, section 4.2: areas of at most 3 x 3 cells in the encoder's self-attention and in the
attention from the caption to the picture, in the first layers.
Shapes: B batch, M = G * G cells, C channels, T words, W model width, V vocabulary, H heads, R
areas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.attention.spec import AreaOptions
from areaviz.data.tokenizer import PAD
from areaviz.models.caption_network import CaptionNetwork
from areaviz.models.layers import DecoderLayer, EncoderLayer, encode, initialise
from areaviz.models.stepper import TransformerStepper
from areaviz.models.transformer import Pass, known_size, learns_areas
from areaviz.models.writer import Writer


@dataclass(frozen=True, slots=True)
class CaptionerConfig:
    """What the network is made of.

    vocabulary: words. encoder: of the pictures, see `EncoderConfig`. grid: side of the grid that is
    attended to. layers, width, filter, heads, dropout: see `TransformerConfig`. area_size: most
    rows and most columns an area has, 1 for regular attention; area_layers: how many of the first
    layers have areas.
    key_mode, value_mode, convolution, size_bias: see `AreaOptions`; the convolution is of the grid
    alone. known_size: see `TransformerConfig`.
    """

    vocabulary: int
    encoder: Mapping[str, Any] = field(default_factory=dict)
    grid: int = 8
    layers: int = 2
    width: int = 256
    filter: int = 1024
    heads: int = 4
    dropout: float = 0.2
    area_size: int = 1
    area_layers: int = 2
    key_mode: str = "mean"
    value_mode: str = "sum"
    convolution: int = 1
    size_bias: bool = False
    known_size: int = 0

    @property
    def mechanism(self) -> str:
        """ "area" or "regular"."""
        return "area" if self.area_size > 1 else "regular"

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return (
            f"areas up to {self.area_size}x{self.area_size}"
            if self.area_size > 1
            else "regular attention"
        )

    def areas(self, layer: int) -> AreaOptions:
        """How the given layer (0-based) sees the grid."""
        shape, size = (self.grid, self.grid), (self.area_size, self.area_size)
        if layer >= self.area_layers or (self.area_size == 1 and not learns_areas(self)):
            return AreaOptions((1, 1), shape=shape, convolution=self.convolution)
        known = (self.known_size, self.known_size) if self.known_size else None
        return AreaOptions(
            size,
            self.key_mode,
            self.value_mode,
            shape,
            self.convolution,
            self.size_bias,
            known_size=known,
        )

    def resized(self, area_size: int | None) -> Self:
        """With another largest area.

        Raises:
            InputError: what is learned about areas was learned for smaller ones.
        """
        if area_size is None or area_size == self.area_size:
            return self
        size, known = min(area_size, self.grid), known_size(self, area_size)
        return replace(
            self, area_size=size, area_layers=self.area_layers or self.layers, known_size=known
        )


class CaptionTransformer(Writer, CaptionNetwork):
    """The whole network, from pixels to words. impl: how area attention is computed, see
    `area_attention`.
    """

    sites = ("encoder-decoder", "encoder self", "decoder self")

    def __init__(self, config: CaptionerConfig, impl: str = "auto") -> None:
        super().__init__(config.encoder, config.grid)
        self.config: CaptionerConfig = config
        self.enter = nn.Linear(self.encoder_config.width, config.width)
        # About as large as the features it is added to: much smaller, and relations between places
        # are not learned.
        self.place = nn.Parameter(torch.randn(config.grid**2, config.width) * 0.5)
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        areas = [config.areas(layer) for layer in range(config.layers)]
        self.encoder = nn.ModuleList(EncoderLayer(config, area, impl) for area in areas)
        self.decoder = nn.ModuleList(
            DecoderLayer(config, AreaOptions(), area, impl) for area in areas
        )
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)
        initialise(self, self.embedding)

    def forward(self, features_BMC: Tensor, target_NT: Tensor) -> Tensor:
        """Logits [N, T, V] of the word after each word of N captions, equally many a picture,
        picture by picture.
        """
        memory_BMW, _ = self.encode(features_BMC)
        return self._decode(memory_BMW, target_NT, need_weights=False).logits

    def attend(self, features_BMC: Tensor, target_BT: Tensor, changed: Changed = UNCHANGED) -> Pass:
        """The same, with the area weights of every site from the same pass; changed: what is done
        otherwise.
        """
        memory_BMW, encoder_self = self.encode(features_BMC, need_weights=True, changed=changed)
        run = self._decode(memory_BMW, target_BT, need_weights=True, changed=changed)
        return Pass(run.logits, {"encoder self": encoder_self, **run.weights})

    def encode(
        self, features_BMC: Tensor, need_weights: bool = False, changed: Changed = UNCHANGED
    ) -> tuple[Tensor, list[Tensor]]:
        """The encoder's output [B, M, W] and its weights, one tensor a layer."""
        x_BMW = self.dropout(self.norms[0](self.enter(features_BMC)) + self.place)
        x_BMW, weights = encode(self.encoder, x_BMW, None, need_weights, changed)
        return self.norms[1](x_BMW), weights

    def write(self, features_BMC: Tensor, changed: Changed = UNCHANGED) -> TransformerStepper:
        """The decoder over these pictures, one word at a time; changed: what is done otherwise."""
        memory_BMW, _ = self.encode(features_BMC, changed=changed)
        memories = [
            layer.cross_attention.remember(
                memory_BMW, interventions=changed.at("encoder-decoder", number)
            )
            for number, layer in enumerate(self.layers)
        ]
        return TransformerStepper(self, memories, memory_BMW.device, changed)

    def normed(self, x_BTW: Tensor) -> Tensor:
        """The decoder's output after its last normalisation."""
        normed: Tensor = self.norms[2](x_BTW)
        return normed

    def _decode(
        self,
        memory_BMW: Tensor,
        target_BT: Tensor,
        need_weights: bool,
        changed: Changed = UNCHANGED,
    ) -> Pass:
        y, decoder_self, encoder_decoder = self.embed(target_BT), [], []
        for number, layer in enumerate(self.decoder):
            own, across = changed.at("decoder self", number), changed.at("encoder-decoder", number)
            y, self_weights, weights = layer(y, memory_BMW, None, need_weights, own, across)
            decoder_self.append(self_weights)
            encoder_decoder.append(weights)
        sites = {"decoder self": decoder_self, "encoder-decoder": encoder_decoder}
        return Pass(self.logits(y), sites if need_weights else {})
