"""The captioning Transformer, which encodes a grid of picture features and writes a sentence.

The first layers use 2-D areas of at most 3 x 3 cells (Li et al. 2019, section 4.2). They use them
in the encoder's self-attention and in the attention from the caption to the picture.

Shapes: B batch, N captions, M = G * G cells, C channels, T words, W model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.data.tokenizer import PAD
from areaviz.models.decoder import TransformerBase, TransformerStepper
from areaviz.models.layers import (
    DecoderLayer,
    EncoderLayer,
    TransformerOptions,
    initialise_weights,
    run_encoder,
)
from areaviz.models.network import Pass, PictureNetwork


@dataclass(frozen=True, slots=True)
class CaptionerConfig(TransformerOptions):
    """The options of the network. Areas, and the convolution over keys, apply to the grid only.

    Args:
        encoder: options of the picture encoder, see `EncoderConfig`.
        grid: side of the grid of cells.
    """

    width: int = 256
    filter: int = 1024
    dropout: float = 0.2
    encoder: Mapping[str, Any] = field(default_factory=dict)
    grid: int = 8

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return self.describe_attention((self.grid, self.grid))

    def areas(self, layer: int) -> AreaOptions:
        """Return the areas that the given layer (0-based) forms on the grid."""
        return self.make_layer_options(layer, (self.grid, self.grid))


class CaptionTransformer(TransformerBase, PictureNetwork):
    """The captioner, from pixels to words.

    Args:
        config: the options.
        impl: see `area_attention`.
    """

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
        # The position embeddings start about as large as the features to which they are added. If
        # they are much smaller, the network does not learn relations between places.
        self.place = nn.Parameter(torch.randn(config.grid**2, config.width) * 0.5)
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        layers = [config.areas(layer) for layer in range(config.layers)]
        self.encoder = nn.ModuleList(EncoderLayer(config, areas, impl) for areas in layers)
        self.decoder = nn.ModuleList(
            DecoderLayer(config, AreaOptions(), areas, impl) for areas in layers
        )
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)
        initialise_weights(self, self.embedding)

    def areas(self, name: str) -> AreaOptions:
        """Return the areas that the first layer forms on a field. Only the picture has areas."""
        return self.config.areas(0) if name == "picture" else AreaOptions()

    def forward(self, features_BMC: Tensor, target_NT: Tensor) -> Tensor:
        """Return the logits [N, T, V] of the next word after each word of N captions.

        The captions are sorted by picture.
        """
        memory_BMW, _ = self.encode(features_BMC)
        return self.decode(memory_BMW, None, target_NT, need_weights=False).logits

    def attend(
        self, features_BMC: Tensor, target_BT: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> Pass:
        """Run one pass and return its logits and the area weights of every site."""
        memory_BMW, encoder_self = self.encode(features_BMC, need_weights=True, changed=changed)
        run = self.decode(memory_BMW, None, target_BT, need_weights=True, changed=changed)
        return Pass(run.logits, {"encoder self": encoder_self, **run.weights})

    def encode(
        self,
        features_BMC: Tensor,
        need_weights: bool = False,
        changed: NetworkInterventions = UNCHANGED,
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the encoder's output [B, M, W] and its weights, one tensor per layer."""
        x_BMW = self.dropout(self.norms[0](self.enter(features_BMC)) + self.place)
        x_BMW, weights = run_encoder(self.encoder, x_BMW, None, need_weights, changed)
        return self.norms[1](x_BMW), weights

    def write(
        self, features_BMC: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> TransformerStepper:
        """Return a decoder that reads these pictures and writes one word at a time."""
        memory_BMW, _ = self.encode(features_BMC, changed=changed)
        return self.make_stepper(memory_BMW, None, changed)

    def normalise_output(self, x_BTW: Tensor) -> Tensor:
        """Apply the decoder's last normalisation."""
        normed: Tensor = self.norms[2](x_BTW)
        return normed
