"""Networks that translate: a Transformer, an LSTM, and the recurrent one of Bahdanau et al."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.attention.additive import AdditiveAttention, ItemMemory
from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.attention.multihead import MultiHeadAttention
from areaviz.models.network import (
    AreaChoices,
    DecoderLayer,
    EncoderLayer,
    Pass,
    SingleItemOptions,
    TransformerBase,
    TransformerOptions,
    TransformerStepper,
    initialise_weights,
    run_encoder,
)
from areaviz.models.recurrent import (
    RECURRENT_SITE,
    RECURRENT_SITES,
    EncodedItems,
    LstmWriter,
    RecurrentStepper,
    RecurrentWriter,
    State,
    find_items_to_read,
    read_both_ways,
    read_items,
)
from areaviz.models.tokenizer import PAD
from areaviz.trace.errors import InputError, check_choice

# The encoder-decoder Transformer (Vaswani et al. 2017) with area attention in its first layers.
#
# It uses the area attention of Li et al. 2019. Layer normalisation comes before each sublayer.
# Source, target and output share their embeddings. Positions are sinusoids, so inputs can have any
# length.
#
# Shapes: B batch, M source items, T target items, W model width, V vocabulary.


TRANSFORMER_SIZES: Mapping[str, Mapping[str, int]] = {
    "Tiny": {"layers": 2, "width": 128, "filter": 512, "heads": 4},
    "Small": {"layers": 2, "width": 256, "filter": 1024, "heads": 4},
    "Base": {"layers": 6, "width": 512, "filter": 2048, "heads": 8},
    "Big": {"layers": 6, "width": 1024, "filter": 4096, "heads": 16},
}
"""The sizes of Li et al. 2019, section 4.1.1, by name."""

TRANSFORMER_SITES = {
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
        chosen = TRANSFORMER_SIZES[check_choice("size", size, tuple(TRANSFORMER_SIZES))]
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
    sites = TRANSFORMER_SITES

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


# The LSTM translator with dot-product attention (Luong et al. 2015) to areas (Li et al. 2019).
#
# One multi-layer LSTM reads the source, and another one writes the translation. The top layer of
# the decoder attends to the top layer of the encoder, item by item or area by area (section 4.1.2
# of Li et al.).
#
# Shapes: B sentences, N = B * K rows of K beams per sentence, M source items, T target items, L
# layers of each LSTM, W width, V vocabulary.


LSTM_SIZES: Mapping[str, Mapping[str, int]] = {
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
        if size not in LSTM_SIZES:
            raise InputError(
                f'Size "{size}" does not exist. Choose one of {"; ".join(LSTM_SIZES)}.'
            )
        return cls(vocabulary, **{**LSTM_SIZES[size], **options})

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
        self.sites = RECURRENT_SITES
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


# The recurrent translator of Bahdanau et al. 2015, with or without additive attention.
#
# A bidirectional GRU reads the source. Another GRU writes, and before each token it attends to the
# source items (survey Eq. 9-14, multimedia paper Figs 2 and 3). The variant without attention is
# the control. It differs only in its context: before each token it gets one fixed vector of the
# source, which consists of the last states of both directions (Cho et al. 2014; survey Eq. 4-8).
#
# Shapes: B sentences, N = B * K rows of K beams per sentence, M source items, T target items, W
# width, C = 2 W channels of a source item, G = 3 W of the gates, V vocabulary.


ATTENTIONS = ("additive", "none")


@dataclass(frozen=True, slots=True)
class BirnnConfig(SingleItemOptions):
    """The options of the network.

    Args:
        vocabulary: number of tokens.
        attention: "additive" or "none".
        width: hidden units of each direction and of the decoder, and the width of a token.
        scoring: hidden units of the additive score.
        dropout: dropout on tokens and on the decoder's output, 0..1.
    """

    vocabulary: int
    attention: str = "additive"
    width: int = 256
    scoring: int = 256
    dropout: float = 0.3

    def __post_init__(self) -> None:
        check_choice("attention", self.attention, ATTENTIONS)

    @property
    def layers(self) -> int:
        """The number of attention layers: 1, or 0 without attention."""
        return int(self.attention != "none")

    @property
    def mechanism(self) -> str:
        """The survey's name for the attention mechanism."""
        return "item-wise soft" if self.layers else "none"

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return f"GRU, {'additive' if self.layers else 'no'} attention"


@dataclass(frozen=True, slots=True)
class EncoderStates:
    """The encoder output for B sentences.

    Args:
        ends: the last states of both directions, [B, C].
        items: the items to attend to, or None if the network has no attention.
    """

    ends: Tensor
    items: ItemMemory | None


class Birnn(RecurrentWriter):
    """The translator, from source tokens to logits of target tokens."""

    def __init__(self, config: BirnnConfig) -> None:
        super().__init__(config.vocabulary, config.width, config.dropout)
        self.config: BirnnConfig = config
        self.sites = RECURRENT_SITES if config.layers else {}
        width, channels = config.width, 2 * config.width
        self.forwards = nn.GRU(width, width, batch_first=True)
        self.backwards = nn.GRU(width, width, batch_first=True)
        self.start = nn.Linear(channels, width)
        self.attention: AdditiveAttention | None = None
        if config.layers:
            self.attention = AdditiveAttention(width, channels, config.scoring)
        # Inputs of the gates of the decoder's GRU: reset, update and new state, concatenated.
        self.word_gates = nn.Linear(width, 3 * width)
        self.context_gates = nn.Linear(channels, 3 * width, bias=False)
        self.hidden_gates = nn.Linear(width, 3 * width)
        self.hidden_out = nn.Linear(width, width)
        self.context_out = nn.Linear(channels, width, bias=False)

    def attend(
        self,
        source_BM: Tensor,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Process all tokens one after the other. Without attention there are no weights."""
        reading, (hidden_BW,) = self.encode(source_BM, changed, target_BT.shape[1])
        words_BTW = self.embed_words(target_BT)
        hiddens, contexts, weights = [], [], []
        for time, word_BG in enumerate(self.word_gates(words_BTW).unbind(1)):
            context_BC, weights_BM = self.attend_to_source(hidden_BW, reading, time)
            hidden_BW = self.update_state(word_BG, context_BC, hidden_BW)
            hiddens.append(hidden_BW)
            contexts.append(context_BC)
            weights.append(weights_BM)
        logits = self.read_out(words_BTW, torch.stack(hiddens, 1), torch.stack(contexts, 1))
        if not need_weights or self.attention is None:
            return Pass(logits, {})
        weights_B1TM = torch.stack([one for one in weights if one is not None], 1)[:, None]
        return Pass(logits, {RECURRENT_SITE: [weights_B1TM]})

    def encode(
        self, source_BM: Tensor, changed: NetworkInterventions = UNCHANGED, times: int = 1
    ) -> tuple[EncoderStates, State]:
        """Encode sentences.

        Args:
            source_BM: source token ids.
            changed: changes to the attention.
            times: number of tokens to write.

        Returns:
            The encoder output and the decoder's first state.
        """
        words_BMW = self.embed_words(source_BM)
        seen_BM = find_items_to_read(source_BM, changed.list_hidden("source"))
        items_BMC, ends_BC = read_both_ways(self.forwards, self.backwards, words_BMW, seen_BM)
        items = None
        if self.attention is not None:
            interventions = changed.get_layer_changes(RECURRENT_SITE, 0)
            items = self.attention.build_memory(items_BMC, source_BM == PAD, interventions, times)
        return EncoderStates(ends_BC, items), (torch.tanh(self.start(ends_BC)),)

    def attend_to_source(
        self, hidden_NW: Tensor, reading: EncoderStates, time: int = 0
    ) -> tuple[Tensor, Tensor | None]:
        """Return the context of each row before its next token, [N, C], and its weights [N, M]."""
        sentences = len(reading.ends)
        if self.attention is None or reading.items is None:
            return reading.ends.repeat_interleave(len(hidden_NW) // sentences, 0), None
        query_BKW = hidden_NW.unflatten(0, (sentences, -1))
        context_BKC, weights_BKM = self.attention.attend_to_memory(query_BKW, reading.items, time)
        return context_BKC.flatten(0, 1), weights_BKM.flatten(0, 1)

    def update_state(self, word_NG: Tensor, context_NC: Tensor, hidden_NW: Tensor) -> Tensor:
        """Return the state [N, W] after one more token and its context.

        Args:
            word_NG: the token's part of the gates.
            context_NC: the context.
            hidden_NW: the state before the token.
        """
        reset, update, new = (word_NG + self.context_gates(context_NC)).chunk(3, 1)
        reset_old, update_old, old = self.hidden_gates(hidden_NW).chunk(3, 1)
        new_NW = torch.tanh(new + torch.sigmoid(reset + reset_old) * old)
        keep_NW = torch.sigmoid(update + update_old)
        return new_NW + keep_NW * (hidden_NW - new_NW)

    def read_out(self, words: Tensor, hidden: Tensor, context: Tensor) -> Tensor:
        """Compute logits [..., V] from the last token, the state and the context."""
        mixed = words + self.hidden_out(hidden) + self.context_out(context)
        return self.compute_logits(torch.tanh(mixed))

    def advance(self, ids_N: Tensor, state: State, memory: EncoderStates) -> tuple[Tensor, State]:
        """Return the logits [N, V] after one more token of every row, and the new state."""
        (hidden_NW,), words_NW = state, self.embed_words(ids_N)
        context_NC, _ = self.attend_to_source(hidden_NW, memory)
        hidden_NW = self.update_state(self.word_gates(words_NW), context_NC, hidden_NW)
        return self.read_out(words_NW, hidden_NW, context_NC), (hidden_NW,)

    def write(
        self, source_BM: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> RecurrentStepper:
        """Return the decoder over these sources, which writes one token at a time."""
        return RecurrentStepper(self, *self.encode(source_BM, changed))
