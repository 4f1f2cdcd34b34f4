"""The layers of all Transformers here (Vaswani et al. 2017), with area attention.

Normalisation comes before each sublayer.

Shapes: B batch, M source items, T target items, W model width, N = B * K rows of K beams per
sentence.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, LayerInterventions, NetworkInterventions
from areaviz.attention.multihead import AreaMemory, CachedMemory, MultiHeadAttention
from areaviz.attention.pooled import LEARNED_KEYS
from areaviz.trace.errors import InputError


@dataclass(frozen=True, slots=True)
class AreaChoices:
    """The base of options of networks that attend to areas.

    Args:
        vocabulary: number of tokens.
        area_size: largest number of items in an area (on a grid: rows and columns), 1 for regular
            attention.
        key_mode: see `AreaOptions`.
        value_mode: see `AreaOptions`.
        convolution: width of the convolution over keys and values of every layer, 1 for none.
        size_bias: whether heads learn a bias per area size.
        known_size: the largest area that learned keys and biases were trained with, 0 for
            `area_size`.
    """

    vocabulary: int
    _: KW_ONLY
    area_size: int = 1
    key_mode: str = "mean"
    value_mode: str = "sum"
    convolution: int = 1
    size_bias: bool = False
    known_size: int = 0

    def areas(self, layer: int) -> AreaOptions:
        """Return the areas that the given layer (0-based) forms in its memory."""
        return self.make_area_options()

    def with_area_size(self, area_size: int | None) -> Self:
        """Return the options with a different largest area.

        Raises:
            InputError: if the parameters cover only smaller areas.
        """
        if area_size is None or area_size == self.area_size:
            return self
        return replace(self, area_size=area_size, known_size=self.get_known_size(area_size))

    @property
    def mechanism(self) -> str:
        """The kind of attention, "area" or "regular"."""
        return "area" if self.area_size > 1 else "regular"

    @property
    def form(self) -> str:
        """The kind of attention over a sequence in words, with its special options."""
        return self.describe_attention(None)

    def describe_attention(self, shape: tuple[int, int] | None) -> str:
        """Describe the attention over a grid (rows, columns) or, for None, over a sequence."""
        size, taps = str(self.area_size), str(self.convolution)
        if shape is not None:
            size, taps = f"{size}x{size}", f"{taps}x{taps}"
        words = "regular attention"
        if self.area_size > 1:
            keys = "" if self.key_mode == "mean" else f" with {self.key_mode} keys"
            words = f"areas up to {size}{keys}"
        return words + (f", convolution of {taps}" if self.convolution > 1 else "")

    def get_known_size(self, area_size: int) -> int:
        """Return the largest area that the network's parameters cover, 0 if none depend on areas.

        Args:
            area_size: the requested largest area.

        Raises:
            InputError: if the parameters cover only smaller areas than requested.
        """
        if not self._learns_areas:
            return 0
        known = self.known_size or self.area_size
        if area_size > known:
            raise InputError(
                f"This model was trained with areas of up to {known} items, so its largest"
                f" area cannot be {area_size}. Choose a size from 1 to {known}."
            )
        return known

    def make_area_options(
        self, shape: tuple[int, int] | None = None, has_areas: bool = True
    ) -> AreaOptions:
        """Return the areas that a layer forms in a memory.

        Args:
            shape: rows and columns of a memory that is a grid. None for a sequence.
            has_areas: whether the layer has areas of more than one item.
        """
        size, known = self.area_size, self.known_size or self.area_size
        if not has_areas or (size == 1 and not self._learns_areas):
            return AreaOptions(shape=shape, convolution=self.convolution)
        return AreaOptions(
            size if shape is None else (size, size),
            self.key_mode,
            self.value_mode,
            shape,
            self.convolution,
            self.size_bias,
            known_size=known if shape is None else (known, known),
        )

    @property
    def _learns_areas(self) -> bool:
        """True if some of the network's parameters depend on the area size."""
        return self.key_mode in LEARNED_KEYS or self.size_bias


@dataclass(frozen=True, slots=True)
class TransformerOptions(AreaChoices):
    """The options that all Transformers share.

    Args:
        layers: layers of the encoder and of the decoder.
        width: width of an item's vector.
        filter: hidden width of the feed-forward sublayer.
        heads: heads of every attention.
        dropout: dropout on embeddings and sublayer outputs, 0..1.
        area_layers: number of layers with areas, counted from the first.
    """

    layers: int = 2
    width: int = 128
    filter: int = 512
    heads: int = 4
    dropout: float = 0.1
    area_layers: int = 2

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return self.form

    def areas(self, layer: int) -> AreaOptions:
        """Return the areas that the given layer (0-based) forms in its memory."""
        return self.make_layer_options(layer)

    def with_area_size(self, area_size: int | None) -> Self:
        """Return the options with a different largest area.

        If no layer had areas, all layers get them.

        Raises:
            InputError: if the parameters cover only smaller areas.
        """
        found = AreaChoices.with_area_size(self, area_size)
        # A model without areas has 0 `area_layers`.
        return (
            found if found is self else replace(found, area_layers=self.area_layers or self.layers)
        )

    def make_layer_options(self, layer: int, shape: tuple[int, int] | None = None) -> AreaOptions:
        """Return the areas of the given layer (0-based).

        Args:
            layer: the layer.
            shape: rows and columns of a memory that is a grid. None for a sequence.
        """
        return self.make_area_options(shape, has_areas=layer < self.area_layers)


def make_sinusoidal_positions(first: int, count: int, width: int, device: torch.device) -> Tensor:
    """Return sinusoids of the positions first..first+count-1: [count, width]."""
    rate = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10000.0) / width))
    angle = torch.arange(first, first + count, device=device)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], 1)


def build_feed_forward(sizes: TransformerOptions) -> nn.Sequential:
    """Build two linear layers with a ReLU between them."""
    return nn.Sequential(
        nn.Linear(sizes.width, sizes.filter), nn.ReLU(), nn.Linear(sizes.filter, sizes.width)
    )


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each with prior normalisation and a residual connection."""

    # True if an item attends only to itself and to earlier items.
    is_causal = False

    def __init__(self, sizes: TransformerOptions, areas: AreaOptions, impl: str) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(sizes.width, sizes.heads, areas, impl)
        self.feed_forward = build_feed_forward(sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.width) for _ in range(2))
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(
        self,
        x_BMW: Tensor,
        padding_BM: Tensor | None,
        need_weights: bool,
        interventions: LayerInterventions | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output [B, M, W] and, with `need_weights`, the area weights."""
        y = self.norms[0](x_BMW)
        context, weights = self.self_attention(
            y, y, padding_BM, self.is_causal, need_weights, interventions
        )
        x = x_BMW + self.dropout(context)
        return x + self.dropout(self.feed_forward(self.norms[1](x))), weights


def run_encoder(
    layers: nn.ModuleList,
    x_BMW: Tensor,
    padding_BM: Tensor | None,
    need_weights: bool,
    changed: NetworkInterventions = UNCHANGED,
) -> tuple[Tensor, list[Tensor]]:
    """Run the encoder layers one after the other.

    Returns:
        The last output [B, M, W] and, with `need_weights`, the weights of each layer.
    """
    weights = []
    for number, layer in enumerate(layers):
        x_BMW, layer_weights = layer(
            x_BMW, padding_BM, need_weights, changed.get_layer_changes("encoder self", number)
        )
        weights.append(layer_weights)
    return x_BMW, weights


class BaseDecoderLayer(nn.Module):
    """The base of decoder layers: causal self-attention, cross-attention and feed-forward."""

    def __init__(
        self, sizes: TransformerOptions, areas: AreaOptions, cross: MultiHeadAttention, impl: str
    ) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(sizes.width, sizes.heads, areas, impl)
        self.cross_attention = cross
        self.feed_forward = build_feed_forward(sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(sizes.width) for _ in range(3))
        self.dropout = nn.Dropout(sizes.dropout)

    def attend_to_history(
        self, x_NTW: Tensor, need_weights: bool, own: LayerInterventions | None
    ) -> tuple[Tensor, Tensor | None]:
        """Apply self-attention: [N, T, W], with its weights if requested.

        Args:
            x_NTW: the input.
            need_weights: whether to return the weights.
            own: changes to the attention to the history.
        """
        y = self.norms[0](x_NTW)
        context, weights = self.self_attention(
            y, y, is_causal=True, need_weights=need_weights, interventions=own
        )
        return x_NTW + self.dropout(context), weights

    def step(
        self,
        x_N1W: Tensor,
        history: AreaMemory | None,
        memory: CachedMemory,
        own: LayerInterventions | None = None,
    ) -> tuple[Tensor, AreaMemory]:
        """Process one more position.

        Args:
            x_N1W: the input of N = B * beams rows, example by example. The rows of an example share
                its memory.
            history: the layer's history. None at the beginning.
            memory: the memory of the cross-attention.
            own: changes to the attention to the history, which are used only at the beginning.
        """
        y = self.norms[0](x_N1W)
        history = self.self_attention.append_item(history, y, own)
        x = x_N1W + self.self_attention.attend_to_memory(y, history)
        # The beams of an example attend to its memory together, so the memory is stored once.
        beams_BKW = self.norms[1](x).unflatten(0, (memory.batch, -1)).squeeze(2)
        x = x + self.cross_attention.attend_to_memory(beams_BKW, memory).flatten(0, 1).unsqueeze(1)
        return x + self.feed_forward(self.norms[2](x)), history


class DecoderLayer(BaseDecoderLayer):
    """A layer that attends to the encoder's output."""

    def __init__(
        self, sizes: TransformerOptions, areas: AreaOptions, memory_areas: AreaOptions, impl: str
    ) -> None:
        super().__init__(
            sizes, areas, MultiHeadAttention(sizes.width, sizes.heads, memory_areas, impl), impl
        )

    def forward(
        self,
        x_NTW: Tensor,
        memory_BMW: Tensor,
        padding_BM: Tensor | None,
        need_weights: bool,
        own: LayerInterventions | None = None,
        across: LayerInterventions | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return outputs [N, T, W] and the weights of both attentions.

        Args:
            x_NTW: the input. Its N rows share B memories, see `step`.
            memory_BMW: the encoder's output.
            padding_BM: True where an item is padding. None if there is no padding.
            need_weights: whether to return the weights.
            own: changes to the attention to the history.
            across: changes to the attention to the memory.
        """
        x, self_weights = self.attend_to_history(x_NTW, need_weights, own)
        # All captions of a picture attend to its memory together, so the memory is projected once.
        query_BQW = self.norms[1](x).unflatten(0, (len(memory_BMW), -1)).flatten(1, 2)
        context, weights = self.cross_attention(
            query_BQW, memory_BMW, padding_BM, need_weights=need_weights, interventions=across
        )
        x = x + self.dropout(context.unflatten(1, (-1, x.shape[1])).flatten(0, 1))
        return x + self.dropout(self.feed_forward(self.norms[2](x))), self_weights, weights


def initialise_weights(network: nn.Module, embedding: nn.Embedding) -> None:
    """Initialise linear layers with Xavier weights and zero biases, and the embedding.

    The embedding's vectors have length one after scaling by sqrt(width).
    """
    nn.init.normal_(embedding.weight, std=embedding.embedding_dim**-0.5)
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
