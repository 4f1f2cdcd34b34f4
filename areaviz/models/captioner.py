"""The captioning Transformer: a grid of picture features is encoded with 2-D areas and described
word by word.

Li et al. 2019, section 4.2: areas of at most 3 x 3 cells in the encoder's self-attention and in the
attention from the caption to the picture, in the first layers.
Shapes: B batch, N captions, M = G * G cells, C channels, T words, W model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.data.tokenizer import PAD
from areaviz.models.decoder import TransformerBase, TransformerStepper
from areaviz.models.layers import (
    DecoderLayer,
    EncoderLayer,
    TransformerOptions,
    encode,
    initialise,
)
from areaviz.models.network import Pass, PictureNetwork


@dataclass(frozen=True, slots=True)
class CaptionerConfig(TransformerOptions):
    """The options of the network; areas and the convolution are of the grid alone.

    Args:
        encoder: of the pictures, see `EncoderConfig`.
        grid: side of the grid that is attended to.
    """

    width: int = 256
    filter: int = 1024
    dropout: float = 0.2
    encoder: Mapping[str, Any] = field(default_factory=dict)
    grid: int = 8

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return self.form_over((self.grid, self.grid))

    def areas(self, layer: int) -> AreaOptions:
        """How the given layer (0-based) sees the grid."""
        return self.area_options(layer, (self.grid, self.grid))


class CaptionTransformer(TransformerBase, PictureNetwork):
    """The whole network, from pixels to words. impl: see `area_attention`."""

    inputs = ("picture",)
    sites = {
        "encoder-decoder": ("target", "picture"),
        "encoder self": ("picture", "picture"),
        "decoder self": ("target", "history"),
    }

    def __init__(self, config: CaptionerConfig, impl: str = "auto") -> None:
        super().__init__(config.encoder, config.grid)
        self.config: CaptionerConfig = config
        self.enter = nn.Linear(self.encoder_config.width, config.width)
        # About as large as the features it is added to: much smaller, and relations between places
        # are not learned.
        self.place = nn.Parameter(torch.randn(config.grid**2, config.width) * 0.5)
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        layers = [config.areas(layer) for layer in range(config.layers)]
        self.encoder = nn.ModuleList(EncoderLayer(config, areas, impl) for areas in layers)
        self.decoder = nn.ModuleList(
            DecoderLayer(config, AreaOptions(), areas, impl) for areas in layers
        )
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)
        initialise(self, self.embedding)

    def areas(self, name: str) -> AreaOptions:
        """How the first layer sees a field: only the picture has areas."""
        return self.config.areas(0) if name == "picture" else AreaOptions()

    def forward(self, features_BMC: Tensor, target_NT: Tensor) -> Tensor:
        """Logits [N, T, V] of the word after each word of N captions, picture by picture."""
        memory_BMW, _ = self.encode(features_BMC)
        return self.decode(memory_BMW, None, target_NT, need_weights=False).logits

    def attend(self, features_BMC: Tensor, target_BT: Tensor, changed: Changed = UNCHANGED) -> Pass:
        """The same, with the area weights of every site from the same pass."""
        memory_BMW, encoder_self = self.encode(features_BMC, need_weights=True, changed=changed)
        run = self.decode(memory_BMW, None, target_BT, need_weights=True, changed=changed)
        return Pass(run.logits, {"encoder self": encoder_self, **run.weights})

    def encode(
        self, features_BMC: Tensor, need_weights: bool = False, changed: Changed = UNCHANGED
    ) -> tuple[Tensor, list[Tensor]]:
        """The encoder's output [B, M, W] and its weights, one tensor a layer."""
        x_BMW = self.dropout(self.norms[0](self.enter(features_BMC)) + self.place)
        x_BMW, weights = encode(self.encoder, x_BMW, None, need_weights, changed)
        return self.norms[1](x_BMW), weights

    def write(self, features_BMC: Tensor, changed: Changed = UNCHANGED) -> TransformerStepper:
        """The decoder over these pictures, one word at a time."""
        memory_BMW, _ = self.encode(features_BMC, changed=changed)
        return self.stepper(memory_BMW, None, changed)

    def normed(self, x_BTW: Tensor) -> Tensor:
        """The decoder's output after its last normalisation."""
        normed: Tensor = self.norms[2](x_BTW)
        return normed
