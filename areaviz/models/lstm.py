"""The LSTM translator with dot-product attention (Luong et al. 2015) to areas (Li et al. 2019).

One multi-layer LSTM reads the source, and another one writes the translation. The top layer of the
decoder attends to the top layer of the encoder, item by item or area by area (section 4.1.2 of Li
et al.).

Shapes: B sentences, N = B * K rows of K beams per sentence, M source items, T target items, L
layers of each LSTM, W width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.attention.multihead import MultiHeadAttention
from areaviz.models.layers import AreaChoices
from areaviz.models.lstm_writer import EncodedItems, LstmWriter
from areaviz.models.recurrent import SITES, find_items_to_read, read_items
from areaviz.models.transformer import find_padding
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
        depth: layers of the encoder and of the decoder.
        width: cells of a layer, and the width of a token.
        heads: heads of the attention.
        dropout: dropout on tokens, between layers and on the decoder's output, 0..1.
    """

    depth: int = 2
    width: int = 256
    heads: int = 1
    dropout: float = 0.2

    @classmethod
    def from_size(cls, size: str, vocabulary: int, **options: Any) -> LstmConfig:
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


class LstmTranslator(LstmWriter):
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

    def encode(self, seen: Tensor, changed: NetworkInterventions = UNCHANGED) -> EncodedItems:
        """Encode sentences, ids [B, M].

        The decoder's first states are computed from the encoder's state after its last item.
        """
        seen_BM = find_items_to_read(seen, changed.list_hidden("source"))
        items_BMW, last_BW = read_items(self.encoder, self.embed_words(seen), seen_BM)
        start_B2LW = torch.tanh(self.start(last_BW)).unflatten(1, (2, self.config.depth, -1))
        return EncodedItems(items_BMW, find_padding(seen), (start_B2LW[:, 0], start_B2LW[:, 1]))
