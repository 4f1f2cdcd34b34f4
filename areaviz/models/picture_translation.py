"""The doubly attentive Transformer (Arslan et al. 2018), a translator that also sees a picture.

The encoder reads the text. Each decoder layer attends to the encoder's output and to the picture's
cells and adds both contexts (Eq. 5-8). Either input may be missing. Without a picture this is the
Transformer, with equal names of weights. Without a text it is a captioner.

Shapes: B batch, M source items, T target items, P = G * G cells, C channels, W model width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, LayerInterventions, NetworkInterventions
from areaviz.attention.multihead import (
    NO_INTERVENTIONS,
    DoublyAttention,
    Memories,
    Share,
    TwoInterventions,
)
from areaviz.models.network import (
    BaseDecoderLayer,
    EncoderLayer,
    Pass,
    PictureNetwork,
    TransformerBase,
    TransformerStepper,
    initialise_weights,
    run_encoder,
)
from areaviz.models.tokenizer import PAD
from areaviz.models.translation import TRANSFORMER_SITES, TransformerConfig, find_padding

SITES = {"text": "encoder-decoder", "picture": "encoder-decoder picture"}
"""The sites of the two attentions in a trace."""


def get_interventions(changed: NetworkInterventions, layer: int) -> TwoInterventions:
    """Return the changes to both attentions of a layer."""
    return TwoInterventions(
        **{name: changed.get_layer_changes(site, layer) for name, site in SITES.items()}
    )


@dataclass(frozen=True, slots=True)
class TwoMemoriesConfig:
    """The options of the network.

    Args:
        vocabulary: number of tokens.
        text: options of the Transformer without the vocabulary, see `TransformerConfig`.
        encoder: options of the picture encoder, see `EncoderConfig`.
        grid: side of the grid of cells.
        picture_size: largest number of rows and columns of an area of the grid.
        picture_dropout: dropout on the projected features, 0..1.
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
        """The number of layers of the encoder and of the decoder."""
        return self.transformer.layers

    @property
    def heads(self) -> int:
        """The number of heads of every layer."""
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
        """Return the areas that the given layer (0-based) forms on the picture."""
        size = self.picture_size if layer < self.transformer.area_layers else 1
        return AreaOptions((size, size), shape=(self.grid, self.grid))

    def with_area_size(self, area_size: int | None) -> Self:
        """Return the options with a different largest area for text and picture.

        Raises:
            InputError: as for `TransformerConfig.with_area_size`.
        """
        if area_size is None:
            return self
        text = self.transformer.with_area_size(area_size)
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
        """Return outputs [B, T, W], self-attention weights, and the shares of text and picture.

        Args:
            x_BTW: the input.
            memories: the text and the picture.
            need_weights: whether to return the weights and shares.
            own: changes to the attention to the history.
            across: changes to the attention to the text and the picture.
        """
        x, self_weights = self.attend_to_history(x_BTW, need_weights, own)
        context, shares = self.cross_attention.attend_both(
            self.norms[1](x), memories, need_weights, across
        )
        x = x + self.dropout(context)
        return x + self.dropout(self.feed_forward(self.norms[2](x))), self_weights, shares


class DoublyAttentiveTransformer(TransformerBase, PictureNetwork):
    """The translator, from source tokens and picture features to logits of target tokens.

    Args:
        config: the options.
        impl: implementation of area attention, see `area_attention`.
    """

    inputs = ("source", "picture")
    longest = 40
    sites = {**TRANSFORMER_SITES, SITES["picture"]: ("target", "picture")}

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
        # Two loops keep the order in which initial weights are drawn.
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
        initialise_weights(self, self.embedding)

    def areas(self, name: str) -> AreaOptions:
        """Return the areas of a field in the first layer, which has the largest areas."""
        return self.config.areas(0) if name == "picture" else self.config.transformer.areas(0)

    def attend(
        self,
        source_BM: Tensor | None,
        features_BPC: Tensor | None,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Return the logits with the weights and strengths of every site from this pass."""
        memories, encoder_self = self.build_memories(source_BM, features_BPC, need_weights, changed)
        y = self.embed(target_BT)
        weights = {"encoder self": encoder_self} if encoder_self else {}
        weights["decoder self"] = []
        strength: dict[str, list[Tensor]] = {}
        for number, layer in enumerate(self.decoder):
            own, across = (
                changed.get_layer_changes("decoder self", number),
                get_interventions(changed, number),
            )
            y, self_weights, shares = layer(y, memories, need_weights, own, across)
            weights["decoder self"].append(self_weights)
            for name, share in shares.items():
                weights.setdefault(SITES[name], []).append(share.weights)
                strength.setdefault(SITES[name], []).append(share.strength)
        return Pass(self.compute_logits(y), weights if need_weights else {}, strength=strength)

    def build_memories(
        self,
        source_BM: Tensor | None,
        features_BPC: Tensor | None,
        need_weights: bool = False,
        changed: NetworkInterventions = UNCHANGED,
    ) -> tuple[Memories, list[Tensor]]:
        """Return the memories of the decoder, and the encoder's weights, one tensor per layer."""
        picture = None if features_BPC is None else self.enter(features_BPC) + self.place
        if source_BM is None:
            return Memories(None, None, picture), []
        padding = find_padding(source_BM)
        x, weights = run_encoder(
            self.encoder, self.embed(source_BM), padding, need_weights, changed
        )
        return Memories(self.encoder_norm(x), padding, picture), weights

    def write(
        self,
        source_BM: Tensor | None,
        features_BPC: Tensor | None,
        changed: NetworkInterventions = UNCHANGED,
    ) -> TransformerStepper:
        """Return the decoder over these sources and pictures, which writes one token at a time."""
        memories, _ = self.build_memories(source_BM, features_BPC, changed=changed)
        pooled = []
        for number, layer in enumerate(self.decoder):
            assert isinstance(layer, TwoMemoriesLayer)
            pooled.append(
                layer.cross_attention.build_memories(memories, get_interventions(changed, number))
            )
        return TransformerStepper(self, pooled, self.place.device, changed)

    def normalise_output(self, x_BTW: Tensor) -> Tensor:
        """Apply the decoder's last normalisation."""
        normed: Tensor = self.decoder_norm(x_BTW)
        return normed
