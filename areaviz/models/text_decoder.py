"""The decoder-only Transformer (Radford et al. 2018), a language model with area attention.

Its attention to the preceding tokens has areas (Li et al. 2019).

Shapes: B batch, N rows, T items, W model width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, LayerInterventions, NetworkInterventions
from areaviz.attention.multihead import AreaMemory
from areaviz.data.tokenizer import PAD
from areaviz.models.decoder import TransformerBase, compute_token_log_probabilities
from areaviz.models.layers import EncoderLayer, TransformerOptions, initialise_weights
from areaviz.models.network import Pass

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
