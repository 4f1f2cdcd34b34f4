"""The encoder-decoder Transformer (Vaswani et al. 2017) with area attention in its first layers (Li
et al. 2019).

Layer normalisation stands before each sublayer, embeddings are shared by source, target and output,
and positions are sinusoids, so there is no longest input.
Shapes: B batch, M source items, T target items, W model width, V vocabulary, H heads, Q queries, R
areas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.attention.spec import LEARNED_KEYS, AreaOptions
from areaviz.data.tokenizer import PAD
from areaviz.models.layers import DecoderLayer, EncoderLayer, encode, initialise
from areaviz.models.stepper import TransformerStepper
from areaviz.models.writer import Writer
from areaviz.trace.errors import InputError

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

    vocabulary: tokens. layers: of encoder and of decoder. width: of an item's vector. filter:
    hidden width of the feed-forward sublayer. heads: of every attention. dropout: on embeddings and
    sublayer outputs,
    0..1. area_size: most items an area holds, 1 for regular attention; area_layers: how many of the
    first layers have areas, in encoder self, decoder self and encoder-decoder attention. key_mode,
    value_mode: see `AreaOptions`. convolution: taps over neighbouring keys and values of every
    layer, 1 for none.
    size_bias: whether heads learn a number for each size of an area. known_size: the largest area
    that learned keys and biases were trained with, 0 for `area_size`.
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
    convolution: int = 1
    size_bias: bool = False
    known_size: int = 0

    @classmethod
    def sized(cls, size: str, vocabulary: int, **options: Any) -> TransformerConfig:
        """A config of the paper's "Tiny", "Small", "Base" or "Big"; InputError for another name."""
        if size not in SIZES:
            raise InputError(f'There is no size "{size}"; choose one of {", ".join(SIZES)}.')
        return cls(vocabulary, **{**SIZES[size], **options})

    def resized(self, area_size: int | None) -> Self:
        """With another largest area, in every layer if it had areas in none.

        Raises:
            InputError: what is learned about areas was learned for smaller ones.
        """
        if area_size is None or area_size == self.area_size:
            return self
        known = known_size(self, area_size)
        return replace(
            self, area_size=area_size, area_layers=self.area_layers or self.layers, known_size=known
        )

    def areas(self, layer: int) -> AreaOptions:
        """How the given layer (0-based) sees its memory."""
        if layer >= self.area_layers or (self.area_size == 1 and not learns_areas(self)):
            return AreaOptions(convolution=self.convolution)
        return AreaOptions(
            self.area_size,
            self.key_mode,
            self.value_mode,
            convolution=self.convolution,
            size_bias=self.size_bias,
            known_size=self.known_size or None,
        )


class HasAreas(Protocol):
    """What the config of a network says of its areas, see `TransformerConfig`."""

    @property
    def area_size(self) -> int:
        """Most items of an area, or most rows and columns."""

    @property
    def key_mode(self) -> str:
        """How the keys of areas are made."""

    @property
    def size_bias(self) -> bool:
        """Whether heads learn a number for each size of an area."""

    @property
    def known_size(self) -> int:
        """The largest area that learned keys and biases were trained with, 0 for `area_size`."""


def learns_areas(config: HasAreas) -> bool:
    """Whether the network has parameters that belong to sizes of areas."""
    return config.key_mode in LEARNED_KEYS or config.size_bias


def known_size(config: HasAreas, area_size: int) -> int:
    """The size that a resized network's parameters are made for; smaller areas just leave the
    larger out.

    Raises:
        InputError: `area_size` is larger.
    """
    if not learns_areas(config):
        return 0
    known = config.known_size or config.area_size
    if area_size > known:
        raise InputError(
            f"This model has learned what areas of up to {known} items mean, so its largest area"
            f" cannot be {area_size}; choose one of 1 to {known}."
        )
    return known


@dataclass(frozen=True, slots=True)
class Pass:
    """One teacher-forced pass: logits [B, T, V] and area weights [B, H, Q, R], one tensor a layer,
    by site.

    chosen: of hard attention, the items that were read, int64 [B, H, Q], one tensor a layer, by
    site. strength: where contexts are added, the length of each, [B, H, Q], one tensor a layer, by
    site.
    """

    logits: Tensor
    weights: Mapping[str, list[Tensor]]
    chosen: Mapping[str, list[Tensor]] = field(default_factory=dict)
    strength: Mapping[str, list[Tensor]] = field(default_factory=dict)


def padding_of(source_BM: Tensor) -> Tensor | None:
    """Where a batch of sentences is padding: bool [B, M], or None where it is nowhere."""
    padding_BM = source_BM == PAD
    return padding_BM if bool(padding_BM.any()) else None


class Transformer(Writer):
    """The whole network. impl: how area attention is computed, see `area_attention`."""

    def __init__(self, config: TransformerConfig, impl: str = "auto") -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        self.encoder = nn.ModuleList(
            EncoderLayer(config, config.areas(layer), impl) for layer in range(config.layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(config, config.areas(layer), config.areas(layer), impl)
            for layer in range(config.layers)
        )
        self.encoder_norm, self.decoder_norm = (
            nn.LayerNorm(config.width),
            nn.LayerNorm(config.width),
        )
        self.dropout = nn.Dropout(config.dropout)
        initialise(self, self.embedding)

    def forward(self, source_BM: Tensor, target_BT: Tensor) -> Tensor:
        """Logits [B, T, V] of the token after each token of `target_BT`, which begins with the
        start symbol.
        """
        return self.attend(source_BM, target_BT, need_weights=False).logits

    def attend(
        self,
        source_BM: Tensor,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: Changed = UNCHANGED,
    ) -> Pass:
        """The same, with the area weights of every site from the same pass; changed: what is done
        otherwise.
        """
        padding = padding_of(source_BM)
        memory_BMW, encoder_self = self.encode(source_BM, padding, need_weights, changed)
        y, decoder_self, encoder_decoder = self.embed(target_BT), [], []
        for number, layer in enumerate(self.decoder):
            own, across = changed.at("decoder self", number), changed.at("encoder-decoder", number)
            y, self_weights, weights = layer(y, memory_BMW, padding, need_weights, own, across)
            decoder_self.append(self_weights)
            encoder_decoder.append(weights)
        sites = {
            "encoder self": encoder_self,
            "decoder self": decoder_self,
            "encoder-decoder": encoder_decoder,
        }
        return Pass(self.logits(y), sites if need_weights else {})

    def encode(
        self,
        source_BM: Tensor,
        padding_BM: Tensor | None,
        need_weights: bool = False,
        changed: Changed = UNCHANGED,
    ) -> tuple[Tensor, list[Tensor]]:
        """The encoder's output [B, M, W] and its weights, one tensor a layer."""
        x, weights = encode(self.encoder, self.embed(source_BM), padding_BM, need_weights, changed)
        return self.encoder_norm(x), weights

    def write(self, source_BM: Tensor, changed: Changed = UNCHANGED) -> TransformerStepper:
        """The decoder over these sources, one token at a time; changed: what is done otherwise."""
        padding = padding_of(source_BM)
        memory_BMW, _ = self.encode(source_BM, padding, changed=changed)
        memories = [
            layer.cross_attention.remember(
                memory_BMW, padding, changed.at("encoder-decoder", number)
            )
            for number, layer in enumerate(self.layers)
        ]
        return TransformerStepper(self, memories, memory_BMW.device, changed)

    def normed(self, x_BTW: Tensor) -> Tensor:
        """The decoder's output after its last normalisation."""
        normed: Tensor = self.decoder_norm(x_BTW)
        return normed
