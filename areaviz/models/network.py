"""The base of generating networks, and the layers and the decoder of all Transformers.

Read `GenerationNetwork` and `Pass` first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, LayerInterventions, NetworkInterventions
from areaviz.attention.multihead import AreaMemory, CachedMemory, MultiHeadAttention
from areaviz.attention.pooled import LEARNED_KEYS
from areaviz.models.base import OnStep
from areaviz.models.decoding import Hypothesis, Stepper, greedy_search, search_by_alpha
from areaviz.models.pictures import build_picture_encoder
from areaviz.models.tokenizer import END, PAD, START, UNKNOWN
from areaviz.trace.errors import InputError

# The base class of all generating networks, and the result of one pass through a network.
#
# Shapes: B examples, T target items, M memory items, C channels, V vocabulary, H heads, Q queries,
# R areas.


Sites = Mapping[str, tuple[str, str]]
"""For each site, the field that attends and the field that is attended to."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The result of a teacher-forced pass. Mappings have, for every site, one tensor per layer.

    Args:
        logits: [B, T, V].
        weights: area weights [B, H, Q, R].
        chosen: for hard attention, the items that were read, int64 [B, H, Q].
        strength: if the network adds the contexts of several sites, the norm of each context,
            [B, H, Q].
    """

    logits: Tensor
    weights: Mapping[str, list[Tensor]]
    chosen: Mapping[str, list[Tensor]] = field(default_factory=dict)
    strength: Mapping[str, list[Tensor]] = field(default_factory=dict)


class NetworkOptions(Protocol):
    """The options of a network, a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def layers(self) -> int:
        """The number of attention layers, or 0 without attention."""

    @property
    def heads(self) -> int:
        """The number of heads of every layer."""

    @property
    def mechanism(self) -> str:
        """The kind of attention, as on the card."""

    @property
    def about(self) -> str:
        """The kind of attention in words, for the title."""

    def areas(self, layer: int) -> AreaOptions:
        """Return the areas of the cross-attention in the given layer (0-based)."""

    def with_area_size(self, area_size: int | None) -> Self:
        """Return the options with a different largest area.

        Raises:
            InputError: if the largest area cannot be changed.
        """


class SingleItemOptions:
    """The base of options of networks with one attention layer, one head and no areas."""

    __slots__ = ()

    # The word for an item in messages.
    item: ClassVar[str] = "item"

    @property
    def layers(self) -> int:
        """The number of attention layers: 1."""
        return 1

    @property
    def heads(self) -> int:
        """The number of heads: 1."""
        return 1

    def areas(self, layer: int) -> AreaOptions:
        """Return the options of areas with one item each."""
        return AreaOptions()

    def with_area_size(self, area_size: int | None) -> Self:
        """Return the options unchanged.

        Raises:
            InputError: if areas of more than one item are requested.
        """
        if area_size is not None and area_size > 1:
            raise InputError(
                f"This model attends to single {self.item}s, not to areas. Keep the default"
                " largest area."
            )
        return self


class GenerationNetwork(nn.Module):
    """The base of generating networks.

    For a new network, add a subclass and a line in `GENERATION_NETWORKS`.
    """

    # The fields that the network reads, in the order in which its methods take them.
    inputs: ClassVar[tuple[str, ...]]
    # Maximum number of items of a text or of a given output that the network reads.
    most_items: ClassVar[int] = 1 << 16
    # Maximum number of items that the network writes if no source text determines it.
    longest: ClassVar[int] = 30

    config: NetworkOptions
    sites: Sites

    def areas(self, name: str) -> AreaOptions:
        """Return the areas of a field in the first layer, which has the largest areas."""
        return self.config.areas(0)

    def forward(self, *inputs: Any) -> Tensor:
        """Return logits [B, T, V] of the next tokens. The target begins with the start symbol."""
        return self.attend(*inputs, need_weights=False).logits

    def attend(self, *inputs: Any, **options: Any) -> Pass:
        """Run one teacher-forced pass over the inputs and a target.

        Args:
            *inputs: the inputs, with None for a missing one. The last argument is a target that
                begins with the start symbol.
            **options: options of the network. `changed` contains the interventions.

        Returns:
            The logits and the weights that belong to them.
        """
        raise NotImplementedError

    def write(self, *inputs: Any, **options: Any) -> Stepper:
        """Return a decoder that reads the inputs and writes one token at a time.

        The option `changed` contains the interventions, see `attend`.
        """
        raise NotImplementedError


class PictureNetwork(GenerationNetwork):
    """The base of networks that read pictures, with an encoder that returns a grid of features."""

    most_items = 200

    def __init__(self, encoder: Mapping[str, Any], grid: int) -> None:
        super().__init__()
        self.pictures = build_picture_encoder(encoder, grid)
        self.encoder_config = self.pictures.config
        self.grid = grid

    def encode_pictures(self, pixels_BHWC: Tensor) -> Tensor:
        """Return the features [B, M, C] of uint8 pixels [B, side, side, 3], row by row."""
        features: Tensor = self.pictures(pixels_BHWC)[self.grid]
        return features


# The layers of all Transformers here (Vaswani et al. 2017), with area attention.
#
# Normalisation comes before each sublayer.
#
# Shapes: B batch, M source items, T target items, W model width, N = B * K rows of K beams per
# sentence.


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


# The decoder of all Transformers, which is parallel in training and stepwise in generation.
#
# Source, target and output share their embeddings.
#
# Shapes: B examples, K beams per example, N = B * K rows example by example, M memory items, T
# target items, W model width, V vocabulary.


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
