"""Networks that read and continue a text: a decoder-only Transformer, and an LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, LayerInterventions, NetworkInterventions
from areaviz.attention.multihead import AreaMemory, MultiHeadAttention
from areaviz.models.network import (
    AreaChoices,
    EncoderLayer,
    GenerationNetwork,
    Pass,
    TransformerBase,
    TransformerOptions,
    compute_token_log_probabilities,
    initialise_weights,
)
from areaviz.models.recurrent import TiedWords
from areaviz.models.tokenizer import PAD

# The decoder-only Transformer (Radford et al. 2018), a language model with area attention.
#
# Its attention to the preceding tokens has areas (Li et al. 2019).
#
# Shapes: B batch, N rows, T items, W model width, V vocabulary.


SITE = "decoder self"


@dataclass(frozen=True, slots=True)
class TextDecoderConfig(TransformerOptions):
    """The options of the network."""


class CausalLayer(EncoderLayer):
    """An encoder layer whose items attend only to themselves and to earlier items."""

    is_causal = True

    def step(
        self, x_N1W: Tensor, history: AreaMemory | None, own: LayerInterventions | None
    ) -> tuple[Tensor, AreaMemory]:
        """Process one more item.

        Args:
            x_N1W: the item.
            history: the layer's history. None at the beginning.
            own: changes to the attention, which are used only at the beginning.
        """
        y = self.norms[0](x_N1W)
        history = self.self_attention.append_item(history, y, own)
        x = x_N1W + self.self_attention.attend_to_memory(y, history)
        return x + self.feed_forward(self.norms[1](x)), history


class TextDecoder(TransformerBase):
    """The language model. A text to continue is the beginning of its output."""

    inputs = ()
    longest = 24
    sites = {SITE: ("target", "history")}

    def __init__(self, config: TextDecoderConfig, impl: str = "auto") -> None:
        super().__init__()
        self.config: TextDecoderConfig = config
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        layers = [config.areas(layer) for layer in range(config.layers)]
        self.decoder = nn.ModuleList(CausalLayer(config, areas, impl) for areas in layers)
        self.norm = nn.LayerNorm(config.width)
        self.dropout = nn.Dropout(config.dropout)
        initialise_weights(self, self.embedding)

    def attend(
        self,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Return the logits with the area weights from this pass."""
        x_BTW, weights = self.embed(target_BT), []
        for number, layer in enumerate(self.decoder):
            x_BTW, found = layer(x_BTW, None, need_weights, changed.get_layer_changes(SITE, number))
            weights.append(found)
        return Pass(self.compute_logits(x_BTW), {SITE: weights} if need_weights else {})

    def write(self, changed: NetworkInterventions = UNCHANGED) -> TextStepper:
        """Return the network as a decoder that writes one token at a time."""
        return TextStepper(self, changed)

    def normalise_output(self, x_BTW: Tensor) -> Tensor:
        """Apply the last normalisation."""
        normed: Tensor = self.norm(x_BTW)
        return normed


class TextStepper:
    """The state of decoding: each layer's history of the text so far."""

    def __init__(self, network: TextDecoder, changed: NetworkInterventions = UNCHANGED) -> None:
        self._network = network
        self._own = [
            changed.get_layer_changes(SITE, layer) for layer in range(network.config.layers)
        ]
        self._histories: list[AreaMemory | None] = [None] * network.config.layers
        self._device = network.embedding.weight.device
        self._position = 0

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N].

        Returns:
            Log-probabilities of the next token, [N, V].
        """
        x_N1W = self._network.embed(tokens.to(self._device)[:, None], self._position)
        for index, layer in enumerate(self._network.decoder):
            assert isinstance(layer, CausalLayer)
            history = self._histories[index]
            x_N1W, self._histories[index] = layer.step(x_N1W, history, self._own[index])
        self._position += 1
        return compute_token_log_probabilities(self._network.compute_logits(x_N1W)[:, 0])

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows."""
        rows = rows.to(self._device)
        self._histories = [history and history.select(rows) for history in self._histories]


# A recurrent language model (Cho et al. 2015, section II-B) with area attention to its own past.
#
# An LSTM reads the text. The state after each token attends to areas (Li et al. 2019) of the states
# up to it, and both together predict the next token.
#
# Shapes: B texts, N rows, T tokens, W width, V vocabulary.


HISTORY = "history"
"""The field of the tokens that the network has read."""


@dataclass(frozen=True, slots=True)
class RecurrentTextDecoderConfig(AreaChoices):
    """The options of the network.

    Args:
        depth: layers of the LSTM.
        width: cells of a layer, and the width of a token.
        heads: heads of the attention.
        dropout: dropout on tokens, between layers and on the output, 0..1.
        attends: whether the states attend to their past. Without attention, the network is the
            plain recurrent language model.
    """

    depth: int = 1
    width: int = 128
    heads: int = 4
    dropout: float = 0.2
    attends: bool = True

    @property
    def layers(self) -> int:
        """The number of attention layers: 1, or 0 without attention."""
        return int(self.attends)

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return f"LSTM, {self.form if self.attends else 'no attention'}"


class RecurrentTextDecoder(TiedWords, GenerationNetwork):
    """The language model. A text to continue is the beginning of its output.

    Args:
        config: the options.
        impl: implementation of area attention, see `area_attention`.
    """

    inputs = ()
    longest = 24

    def __init__(self, config: RecurrentTextDecoderConfig, impl: str = "auto") -> None:
        super().__init__()
        self.config: RecurrentTextDecoderConfig = config
        self.sites = {SITE: ("target", HISTORY)} if config.attends else {}
        width, depth = config.width, config.depth
        self.embedding = nn.Embedding(config.vocabulary, width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        between = config.dropout if depth > 1 else 0.0
        self.reader = nn.LSTM(width, width, depth, batch_first=True, dropout=between)
        self.attention: MultiHeadAttention | None = None
        if config.attends:
            self.attention = MultiHeadAttention(width, config.heads, config.areas(0), impl)
        self.hidden_out = nn.Linear(width, width, bias=False)

    def attend(
        self,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Return the logits with the area weights from this pass."""
        state_BTW = self._read_tokens(target_BT, changed.list_hidden(HISTORY))
        if self.attention is None:
            return Pass(self.read_out(state_BTW), {})
        context_BTW, weights = self.attention(
            state_BTW,
            state_BTW,
            is_causal=True,
            need_weights=need_weights,
            interventions=changed.get_layer_changes(SITE, 0),
        )
        logits = self.read_out(state_BTW, context_BTW)
        return Pass(logits, {} if weights is None else {SITE: [weights]})

    def read_out(self, state: Tensor, context: Tensor | float = 0.0) -> Tensor:
        """Compute logits [..., V] from the states of the LSTM and their contexts."""
        return self.compute_logits(torch.tanh(self.hidden_out(state) + context))

    def write(self, changed: NetworkInterventions = UNCHANGED) -> RecurrentTextStepper:
        """Return the network as a decoder that writes one token at a time."""
        return RecurrentTextStepper(self, changed)

    def _read_tokens(self, target_BT: Tensor, hidden: Sequence[int]) -> Tensor:
        """Return the top state after each token, [B, T, W].

        The LSTM skips hidden tokens, so its state after one is the state before it: zeros at the
        beginning of the text.
        """
        words_BTW = self.embed_words(target_BT)
        is_read_T = torch.ones(target_BT.shape[1], dtype=torch.bool, device=target_BT.device)
        is_read_T[list(hidden)] = False
        states_BTW = [torch.zeros_like(words_BTW[:, :1])]
        # An LSTM of torch refuses a text of which every token is hidden.
        if is_read_T.any():
            states_BTW.append(self.reader(words_BTW[:, is_read_T])[0])
        return torch.cat(states_BTW, 1)[:, is_read_T.cumsum(0)]


class RecurrentTextStepper:
    """The state of decoding: the LSTM's state, and the history of the text so far."""

    def __init__(self, network: RecurrentTextDecoder, changed: NetworkInterventions) -> None:
        self._network = network
        self._own = changed.get_layer_changes(SITE, 0)
        self._hidden = frozenset(changed.list_hidden(HISTORY))
        self._history: AreaMemory | None = None
        self._cells: tuple[Tensor, Tensor] | None = None
        self._position = 0

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N].

        Returns:
            Log-probabilities of the next token, [N, V].
        """
        network = self._network
        words_N1W = network.embed_words(tokens.to(network.embedding.weight.device)[:, None])
        if self._position not in self._hidden:
            _, self._cells = network.reader(words_N1W, self._cells)
        self._position += 1
        state_N1W = torch.zeros_like(words_N1W)
        if self._cells is not None:
            state_N1W = self._cells[0][-1][:, None]
        context_N1W: Tensor | float = 0.0
        if network.attention is not None:
            self._history = network.attention.append_item(self._history, state_N1W, self._own)
            context_N1W = network.attention.attend_to_memory(state_N1W, self._history)
        return compute_token_log_probabilities(network.read_out(state_N1W, context_N1W)[:, 0])

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows."""
        chosen = rows.to(self._network.embedding.weight.device)
        self._history = self._history and self._history.select(chosen)
        if self._cells is not None:
            hidden, cell = self._cells
            self._cells = (hidden[:, chosen].contiguous(), cell[:, chosen].contiguous())
