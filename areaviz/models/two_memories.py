"""The doubly attentive Transformer (Arslan et al. 2018): a translator that also looks at a picture.

The encoder is the text's; each decoder layer attends to its output and to the picture's cells and
adds what both give (Eq. 5-8). Either may be missing: without a picture this is the Transformer of
the same names of weights, without a text it is a captioner.
Shapes: B batch, M source items, T target items, P = G * G cells, C channels, W model width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, Changed, LayerInterventions
from areaviz.attention.two_memories import (
    NO_INTERVENTIONS,
    DoublyAttention,
    Memories,
    Share,
    TwoInterventions,
)
from areaviz.data.tokenizer import PAD
from areaviz.models.decoder import TransformerBase, TransformerStepper
from areaviz.models.layers import BaseDecoderLayer, EncoderLayer, encode, initialise
from areaviz.models.network import Pass, PictureNetwork
from areaviz.models.transformer import SITES as TEXT_SITES
from areaviz.models.transformer import TransformerConfig, padding_of

SITES = {"text": "encoder-decoder", "picture": "encoder-decoder picture"}
"""What the two attentions are called in a trace."""


def interventions_at(changed: Changed, layer: int) -> TwoInterventions:
    """The interventions in both attentions of a layer."""
    return TwoInterventions(**{name: changed.at(site, layer) for name, site in SITES.items()})


@dataclass(frozen=True, slots=True)
class TwoMemoriesConfig:
    """The options of the network.

    Args:
        vocabulary: tokens.
        text: options of the Transformer but its vocabulary, see `TransformerConfig`.
        encoder: of the pictures, see `EncoderConfig`.
        grid: side of the grid that is attended to.
        picture_size: most rows and columns of an area of the grid.
        picture_dropout: on the projected features, 0..1.
    """

    vocabulary: int
    text: Mapping[str, Any] = field(default_factory=dict)
    encoder: Mapping[str, Any] = field(default_factory=dict)
    grid: int = 14
    picture_size: int = 1
    picture_dropout: float = 0.5

    @property
    def transformer(self) -> TransformerConfig:
        """The options of the text's part."""
        return TransformerConfig(self.vocabulary, **self.text)

    @property
    def layers(self) -> int:
        """Layers of the encoder and of the decoder."""
        return self.transformer.layers

    @property
    def heads(self) -> int:
        """Heads of every layer."""
        return self.transformer.heads

    @property
    def mechanism(self) -> str:
        """The kind of attention."""
        return "text and picture"

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return "attention to a text and a picture"

    def areas(self, layer: int) -> AreaOptions:
        """How the given layer (0-based) sees the picture."""
        size = self.picture_size if layer < self.transformer.area_layers else 1
        return AreaOptions((size, size), shape=(self.grid, self.grid))

    def resized(self, area_size: int | None) -> Self:
        """The options with another largest area of both; raises as `TransformerConfig.resized`."""
        if area_size is None:
            return self
        text = self.transformer.resized(area_size)
        areas = {name: getattr(text, name) for name in ("area_size", "area_layers", "known_size")}
        return replace(self, text={**self.text, **areas}, picture_size=area_size)


class TwoMemoriesLayer(BaseDecoderLayer):
    """A layer that attends to a text and a picture."""

    cross_attention: DoublyAttention

    def __init__(
        self, sizes: TransformerConfig, areas: AreaOptions, picture_areas: AreaOptions, impl: str
    ) -> None:
        cross = DoublyAttention(sizes.width, sizes.heads, areas, picture_areas, impl)
        super().__init__(sizes, areas, cross, impl)

    def forward(
        self,
        x_BTW: Tensor,
        memories: Memories,
        need_weights: bool,
        own: LayerInterventions | None = None,
        across: TwoInterventions = NO_INTERVENTIONS,
    ) -> tuple[Tensor, Tensor | None, dict[str, Share]]:
        """Outputs [B, T, W], the weights of self-attention, and the shares of text and picture.

        own, across: interventions in the attention to the history, and to text and picture.
        """
        x, self_weights = self.look_back(x_BTW, need_weights, own)
        context, shares = self.cross_attention.attend_both(
            self.norms[1](x), memories, need_weights, across
        )
        x = x + self.dropout(context)
        return x + self.dropout(self.feed_forward(self.norms[2](x))), self_weights, shares


class TwoMemoriesTransformer(TransformerBase, PictureNetwork):
    """The whole network. impl: how area attention is computed, see `area_attention`."""

    inputs = ("source", "picture")
    longest = 40
    sites = {**TEXT_SITES, SITES["picture"]: ("target", "picture")}

    def __init__(self, config: TwoMemoriesConfig, impl: str = "auto") -> None:
        super().__init__(config.encoder, config.grid)
        self.config: TwoMemoriesConfig = config
        sizes = config.transformer
        self.enter = nn.Sequential(
            nn.LayerNorm(self.encoder_config.width),
            nn.Linear(self.encoder_config.width, sizes.width),
            nn.Dropout(config.picture_dropout),
        )
        self.place = nn.Parameter(torch.randn(config.grid**2, sizes.width) * 0.5)
        self.embedding = nn.Embedding(config.vocabulary, sizes.width, padding_idx=PAD)
        # One loop for each, so that weights are drawn in the order they always were.
        self.encoder = nn.ModuleList()
        self.decoder = nn.ModuleList()
        for layer in range(sizes.layers):
            self.encoder.append(EncoderLayer(sizes, sizes.areas(layer), impl))
        for layer in range(sizes.layers):
            areas = sizes.areas(layer)
            self.decoder.append(TwoMemoriesLayer(sizes, areas, config.areas(layer), impl))
        self.encoder_norm = nn.LayerNorm(sizes.width)
        self.decoder_norm = nn.LayerNorm(sizes.width)
        self.dropout = nn.Dropout(sizes.dropout)
        initialise(self, self.embedding)

    def areas(self, name: str) -> AreaOptions:
        """How the first layer, which has the largest areas, sees a field."""
        return self.config.areas(0) if name == "picture" else self.config.transformer.areas(0)

    def forward(
        self, source_BM: Tensor | None, features_BPC: Tensor | None, target_BT: Tensor
    ) -> Tensor:
        """Logits [B, T, V] of the token after each; one of text and picture may be None."""
        return self.attend(source_BM, features_BPC, target_BT, need_weights=False).logits

    def attend(
        self,
        source_BM: Tensor | None,
        features_BPC: Tensor | None,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: Changed = UNCHANGED,
    ) -> Pass:
        """The same, with the weights and strengths of every site from the same pass."""
        memories, encoder_self = self.remember(source_BM, features_BPC, need_weights, changed)
        y = self.embed(target_BT)
        weights = {"encoder self": encoder_self} if encoder_self else {}
        weights["decoder self"] = []
        strength: dict[str, list[Tensor]] = {}
        for number, layer in enumerate(self.decoder):
            own, across = changed.at("decoder self", number), interventions_at(changed, number)
            y, self_weights, shares = layer(y, memories, need_weights, own, across)
            weights["decoder self"].append(self_weights)
            for name, share in shares.items():
                weights.setdefault(SITES[name], []).append(share.weights)
                strength.setdefault(SITES[name], []).append(share.strength)
        return Pass(self.logits(y), weights if need_weights else {}, strength=strength)

    def remember(
        self,
        source_BM: Tensor | None,
        features_BPC: Tensor | None,
        need_weights: bool = False,
        changed: Changed = UNCHANGED,
    ) -> tuple[Memories, list[Tensor]]:
        """What the decoder attends to, and the weights of the encoder, one tensor a layer."""
        picture = None if features_BPC is None else self.enter(features_BPC) + self.place
        if source_BM is None:
            return Memories(None, None, picture), []
        padding = padding_of(source_BM)
        x, weights = encode(self.encoder, self.embed(source_BM), padding, need_weights, changed)
        return Memories(self.encoder_norm(x), padding, picture), weights

    def write(
        self, source_BM: Tensor | None, features_BPC: Tensor | None, changed: Changed = UNCHANGED
    ) -> TransformerStepper:
        """The decoder over these sources and pictures, one token at a time."""
        memories, _ = self.remember(source_BM, features_BPC, changed=changed)
        pooled = []
        for number, layer in enumerate(self.decoder):
            assert isinstance(layer, TwoMemoriesLayer)
            pooled.append(
                layer.cross_attention.remember_both(memories, interventions_at(changed, number))
            )
        return TransformerStepper(self, pooled, self.place.device, changed)

    def normed(self, x_BTW: Tensor) -> Tensor:
        """The decoder's output after its last normalisation."""
        normed: Tensor = self.decoder_norm(x_BTW)
        return normed
