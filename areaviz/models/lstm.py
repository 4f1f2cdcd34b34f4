"""The LSTM translator with dot-product attention (Luong et al. 2015) to areas (Li et al. 2019).

A multi-layer LSTM reads the source and another one writes. The top layer of the decoder attends to
the top layer of the encoder, item by item or area by area (section 4.1.2 of the latter paper). The
context is combined with the state for the output and not fed back, so in training all tokens attend
at once.

Shapes: B sentences, N = B * K rows of K beams per sentence, M source items, T target items, L
layers of each LSTM, W width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.attention.memory import AreaMemory
from areaviz.attention.multihead import MultiHeadAttention
from areaviz.models.layers import AreaChoices
from areaviz.models.network import Pass
from areaviz.models.recurrent import (
    SITE,
    SITES,
    RecurrentStepper,
    RecurrentTranslator,
    State,
    items_to_read,
    read_items,
)
from areaviz.models.transformer import padding_of
from areaviz.trace.errors import InputError

SIZES: Mapping[str, Mapping[str, int]] = {
    f"{width} cells, {heads} head{'s' if heads > 1 else ''}": {"width": width, "heads": heads}
    for width in (256, 512, 1024)
    for heads in (1, 4)
}
"""The sizes of Li et al. 2019, Tables 2 and 4, by name."""


@dataclass(frozen=True, slots=True)
class LstmConfig(AreaChoices):
    """The options of the network.

    Args:
        vocabulary: number of tokens.
        depth: layers of the encoder and of the decoder.
        width: cells of a layer, and the width of a token.
        heads: heads of the attention.
        dropout: dropout on tokens, between layers and on the decoder's output, 0..1.
        area_size: largest number of items in an area, 1 for regular attention.
        key_mode: see `AreaOptions`.
        value_mode: see `AreaOptions`.
        convolution: taps over neighbouring keys and values, 1 for no convolution.
        size_bias: whether heads learn a bias per area size.
        known_size: the largest area that learned keys and biases were trained with, 0 for
            `area_size`.
    """

    vocabulary: int
    depth: int = 2
    width: int = 256
    heads: int = 1
    dropout: float = 0.2
    area_size: int = 1
    key_mode: str = "mean"
    value_mode: str = "sum"
    convolution: int = 1
    size_bias: bool = False
    known_size: int = 0

    @classmethod
    def sized(cls, size: str, vocabulary: int, **options: Any) -> LstmConfig:
        """Return the options of a size, such as "256 cells, 4 heads".

        Raises:
            InputError: if the size is unknown.
        """
        if size not in SIZES:
            raise InputError(f'Size "{size}" does not exist. Choose one of {"; ".join(SIZES)}.')
        return cls(vocabulary, **{**SIZES[size], **options})

    @property
    def layers(self) -> int:
        """The number of attention layers: 1, because only the top of the decoder attends."""
        return 1

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return f"LSTM, {self.form}"

    def areas(self, layer: int) -> AreaOptions:
        """Return the areas that are formed in the source."""
        return self.memory_options()

    def resized(self, area_size: int | None) -> Self:
        """Return the options with a different largest area; raise as `AreaChoices.known_for`."""
        if area_size is None or area_size == self.area_size:
            return self
        return replace(self, area_size=area_size, known_size=self.known_for(area_size))


class LstmTranslator(RecurrentTranslator):
    """The translator, from source tokens to logits of target tokens.

    Args:
        config: the options.
        impl: implementation of area attention, see `area_attention`.
    """

    def __init__(self, config: LstmConfig, impl: str = "auto") -> None:
        super().__init__(config.vocabulary, config.width, config.dropout)
        self.config: LstmConfig = config
        self.sites = SITES
        width, depth = config.width, config.depth
        between = config.dropout if depth > 1 else 0.0
        self.encoder = nn.LSTM(width, width, depth, batch_first=True, dropout=between)
        self.decoder = nn.LSTM(width, width, depth, batch_first=True, dropout=between)
        self.start = nn.Linear(width, 2 * depth * width)
        self.cross = MultiHeadAttention(width, config.heads, config.areas(0), impl)
        self.hidden_out = nn.Linear(width, width, bias=False)

    def areas(self, name: str) -> AreaOptions:
        """Return the areas that are formed in a field."""
        return self.config.areas(0)

    def attend(
        self,
        source_BM: Tensor,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Process all tokens at once; with `need_weights` return this pass's area weights."""
        items_BMW, (hidden_BLW, cell_BLW) = self.read(source_BM, changed)
        state = (_layers_first(hidden_BLW), _layers_first(cell_BLW))
        top_BTW, _ = self.decoder(self.words(target_BT), state)
        context_BTW, weights = self.cross(
            top_BTW,
            items_BMW,
            padding_of(source_BM),
            need_weights=need_weights,
            interventions=changed.at(SITE, 0),
        )
        logits = self.read_out(top_BTW, context_BTW)
        return Pass(logits, {} if weights is None else {SITE: [weights]})

    def read(
        self, source_BM: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> tuple[Tensor, State]:
        """Encode sentences.

        Returns:
            The items [B, M, W], and the decoder's first hidden and cell states [B, L, W], which are
            computed from the encoder's state after its last item.
        """
        seen_BM = items_to_read(source_BM, changed.hidden("source"))
        items_BMW, last_BW = read_items(self.encoder, self.words(source_BM), seen_BM)
        start_B2LW = torch.tanh(self.start(last_BW)).unflatten(1, (2, self.config.depth, -1))
        return items_BMW, (start_B2LW[:, 0], start_B2LW[:, 1])

    def read_out(self, top: Tensor, context: Tensor) -> Tensor:
        """Compute logits [..., V] from the decoder's top layer and the context."""
        return self.logits(torch.tanh(self.hidden_out(top) + context))

    def advance(self, ids_N: Tensor, state: State, memory: AreaMemory) -> tuple[Tensor, State]:
        """Return the logits [N, V] after one more token of every row, and the new state."""
        hidden_NLW, cell_NLW = state
        before = (_layers_first(hidden_NLW), _layers_first(cell_NLW))
        top_N1W, (hidden_LNW, cell_LNW) = self.decoder(self.words(ids_N)[:, None], before)
        top_NW = top_N1W[:, 0]
        context_BKW = self.cross.ask(top_NW.unflatten(0, (memory.batch, -1)), memory)
        logits_NV = self.read_out(top_NW, context_BKW.flatten(0, 1))
        return logits_NV, (hidden_LNW.transpose(0, 1), cell_LNW.transpose(0, 1))

    def write(
        self, source_BM: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> RecurrentStepper:
        """Return the decoder over these sources, which writes one token at a time."""
        items_BMW, state = self.read(source_BM, changed)
        memory = self.cross.remember(items_BMW, padding_of(source_BM), changed.at(SITE, 0))
        return RecurrentStepper(self, memory, state)


def _layers_first(state_NLW: Tensor) -> Tensor:
    return state_NLW.transpose(0, 1).contiguous()
