"""The encoder-decoder Transformer (Vaswani et al. 2017) with area attention in its first layers.

It uses the area attention of Li et al. 2019. Layer normalisation comes before each sublayer.
Source, target and output share their embeddings. Positions are sinusoids, so inputs can have any
length.

Shapes: B batch, M source items, T target items, W model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

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
from areaviz.models.network import Pass
from areaviz.trace.errors import check_choice

SIZES: Mapping[str, Mapping[str, int]] = {
    "Tiny": {"layers": 2, "width": 128, "filter": 512, "heads": 4},
    "Small": {"layers": 2, "width": 256, "filter": 1024, "heads": 4},
    "Base": {"layers": 6, "width": 512, "filter": 2048, "heads": 8},
    "Big": {"layers": 6, "width": 1024, "filter": 4096, "heads": 16},
}
"""The sizes of Li et al. 2019, section 4.1.1, by name."""

SITES = {
    "encoder self": ("source", "source"),
    "decoder self": ("target", "history"),
    "encoder-decoder": ("target", "source"),
}


@dataclass(frozen=True, slots=True)
class TransformerConfig(TransformerOptions):
    """The options of the network. All three kinds of attention have areas."""

    @classmethod
    def from_size(cls, size: str, vocabulary: int, **options: Any) -> TransformerConfig:
        """Return the options of the paper's "Tiny", "Small", "Base" or "Big".

        Raises:
            InputError: if the size is unknown.
        """
        chosen = SIZES[check_choice("size", size, tuple(SIZES))]
        return cls(vocabulary, **{**chosen, **options})


def find_padding(source_BM: Tensor) -> Tensor | None:
    """Return where a batch of sentences is padding, bool [B, M], or None for no padding.

    The mask is returned for every batch on a GPU, because to look for padding there, the host would
    have to wait for all pending work.
    """
    padding_BM = source_BM == PAD
    if padding_BM.device.type == "cpu" and not padding_BM.any():
        return None
    return padding_BM


class Transformer(TransformerBase):
    """The translator, from source tokens to logits of target tokens.

    Args:
        config: the options.
        impl: implementation of area attention, see `area_attention`.
    """

    inputs = ("source",)
    sites = SITES

    def __init__(self, config: TransformerConfig, impl: str = "auto") -> None:
        super().__init__()
        self.config: TransformerConfig = config
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        layers = [config.areas(layer) for layer in range(config.layers)]
        self.encoder = nn.ModuleList(EncoderLayer(config, areas, impl) for areas in layers)
        self.decoder = nn.ModuleList(DecoderLayer(config, areas, areas, impl) for areas in layers)
        self.encoder_norm = nn.LayerNorm(config.width)
        self.decoder_norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        initialise_weights(self, self.embedding)

    def attend(
        self,
        source_BM: Tensor,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Return the logits with the area weights of every site from this pass."""
        padding = find_padding(source_BM)
        memory_BMW, encoder_self = self.encode(source_BM, padding, need_weights, changed)
        run = self.decode(memory_BMW, padding, target_BT, need_weights, changed)
        if not need_weights:
            return run
        return Pass(run.logits, {"encoder self": encoder_self, **run.weights})

    def encode(
        self,
        source_BM: Tensor,
        padding_BM: Tensor | None,
        need_weights: bool = False,
        changed: NetworkInterventions = UNCHANGED,
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the encoder's output [B, M, W] and its weights, one tensor per layer."""
        x, weights = run_encoder(
            self.encoder, self.embed(source_BM), padding_BM, need_weights, changed
        )
        return self.encoder_norm(x), weights

    def write(
        self, source_BM: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> TransformerStepper:
        """Return the decoder over these sources, which writes one token at a time."""
        padding = find_padding(source_BM)
        memory_BMW, _ = self.encode(source_BM, padding, changed=changed)
        return self.make_stepper(memory_BMW, padding, changed)

    def normalise_output(self, x_BTW: Tensor) -> Tensor:
        """Apply the decoder's last normalisation."""
        normed: Tensor = self.decoder_norm(x_BTW)
        return normed
