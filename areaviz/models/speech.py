"""The speech recogniser, which hears spoken digits and writes their names.

Chorowski et al. 2015; multimedia paper Fig. 8. Two convolutions turn every four frames of the
spectrogram into one item, a bidirectional GRU reads the items, and another GRU writes. Before each
digit it attends to the items by their content, by the previous location or by both
(`areaviz.attention.additive`).

Shapes: B recordings, N = B * K rows of K beams per recording, F frames, H = F / 2, E bands, M
items, T target items, W width, C = 2 W channels of an item, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.additive import (
    SCORINGS,
    ItemMemory,
    LocationAttention,
    compute_weights,
    make_first_weights,
)
from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.media.sounds import HOP
from areaviz.models.network import Pass, SingleItemOptions
from areaviz.models.recurrent import (
    RECURRENT_SITE,
    RecurrentStepper,
    RecurrentWriter,
    State,
    read_both_ways,
)
from areaviz.trace.changes import Share
from areaviz.trace.errors import check_choice

FRAMES_PER_ITEM = 4
SAMPLES_PER_ITEM = HOP * FRAMES_PER_ITEM


@dataclass(frozen=True, slots=True)
class ListenerConfig(SingleItemOptions):
    """The options of the network.

    Args:
        vocabulary: number of tokens.
        scoring: one of `SCORINGS`.
        bands: bands of the spectrogram.
        width: hidden units of each direction and of the decoder, and the width of a token.
        filters: number of filters over the previous weights, see `LocationAttention`.
        reach: reach of a filter, in items.
        dropout: dropout on items, tokens and the decoder's output, 0..1.
    """

    vocabulary: int
    scoring: str = "hybrid"
    bands: int = 40
    width: int = 128
    filters: int = 10
    reach: int = 15
    dropout: float = 0.2

    def __post_init__(self) -> None:
        check_choice("scoring", self.scoring, SCORINGS)

    @property
    def mechanism(self) -> str:
        """The survey's name for the attention mechanism."""
        return "item-wise soft"

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        names = {"content": "content", "location": "location", "hybrid": "content and location"}
        return f"GRU, attention by {names[self.scoring]}"


@dataclass(frozen=True, slots=True)
class EncodedSpeech:
    """The encoder output for B recordings.

    Args:
        items: the items to attend to.
        readable: bool [B, M].
        share: how scores become weights.
    """

    items: ItemMemory
    readable: Tensor
    share: Share


class SpeechRecognizer(RecurrentWriter):
    """The speech recogniser, from a spectrogram to digits."""

    inputs = ("sound",)
    longest = 24

    def __init__(self, config: ListenerConfig) -> None:
        super().__init__(config.vocabulary, config.width, config.dropout)
        self.config: ListenerConfig = config
        self.sites = {RECURRENT_SITE: ("target", "sound")}
        width, channels = config.width, 2 * config.width
        self.narrow = nn.Conv1d(config.bands, width, 5, stride=2, padding=2)
        self.narrower = nn.Conv1d(width, width, 5, stride=2, padding=2)
        self.forwards = nn.GRU(width, width, batch_first=True)
        self.backwards = nn.GRU(width, width, batch_first=True)
        self.attention = LocationAttention(
            width, channels, width, config.scoring, config.filters, config.reach
        )
        self.cell = nn.GRUCell(width + channels, width)
        self.hidden_out = nn.Linear(width, width)
        self.context_out = nn.Linear(channels, width, bias=False)

    def attend(
        self,
        frames_BFE: Tensor,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Process all tokens one after the other. Frames of NaN are padding."""
        heard = self.encode(frames_BFE, changed, target_BT.shape[1])
        state, logits, weights = self.make_first_state(heard), [], []
        for time, ids_B in enumerate(target_BT.unbind(1)):
            logits_BV, state = self.advance(ids_B, state, heard, time)
            logits.append(logits_BV)
            weights.append(state[1])
        found = {RECURRENT_SITE: [torch.stack(weights, 1)[:, None]]} if need_weights else {}
        return Pass(torch.stack(logits, 1), found)

    def encode(
        self, frames_BFE: Tensor, changed: NetworkInterventions = UNCHANGED, times: int = 1
    ) -> EncodedSpeech:
        """Encode recordings.

        Args:
            frames_BFE: spectrograms. Frames of NaN are padding.
            changed: changes to the attention.
            times: number of tokens to write.
        """
        is_padding_BF = frames_BFE.isnan().any(2)
        frames_BEF = frames_BFE.masked_fill(is_padding_BF[:, :, None], 0.0).transpose(1, 2)
        half_BWH = F.relu(self.narrow(frames_BEF))
        # The second convolution pads an unpadded recording with zeros. A padded recording therefore
        # needs zeros after its end, too.
        half_BWH = half_BWH.masked_fill(is_padding_BF[:, None, ::2], 0.0)
        items_BWM = F.relu(self.narrower(half_BWH))
        # An item is readable if it contains at least one frame of the recording.
        readable_BM = ~is_padding_BF[:, ::FRAMES_PER_ITEM]
        readable_BM[:, list(changed.list_hidden("sound"))] = False
        items_BMW = self.dropout(items_BWM.transpose(1, 2))
        read_BMC, _ = read_both_ways(self.forwards, self.backwards, items_BMW, readable_BM)
        items_BMC = self.dropout(read_BMC)
        keys_BMD = self.attention.compute_keys(items_BMC)
        memory = ItemMemory.with_changes(
            items_BMC, keys_BMD, readable_BM, changed.get_layer_changes(RECURRENT_SITE, 0), times
        )
        return EncodedSpeech(memory, readable_BM, changed.get_share(RECURRENT_SITE))

    def make_first_state(self, heard: EncodedSpeech) -> State:
        """Return the decoder's first state: zeros, and all previous weight on the first item."""
        hidden_BW = heard.items.value.new_zeros(len(heard.readable), self.config.width)
        return hidden_BW, make_first_weights(heard.readable).to(hidden_BW.dtype)

    def advance(
        self, ids_N: Tensor, state: State, memory: EncodedSpeech, time: int = 0
    ) -> tuple[Tensor, State]:
        """Return the logits [N, V] after one more token of every row, and the new state.

        The state consists of the hidden state and the weights.
        """
        hidden_NW, before_NM = state
        items, beams = memory.items, len(ids_N) // len(memory.readable)
        items_NMC = items.value.repeat_interleave(beams, 0)
        readable_NM = memory.readable.repeat_interleave(beams, 0)
        keys_NMD = None if items.key is None else items.key.repeat_interleave(beams, 0)
        scores_NM = self.attention.compute_scores(hidden_NW, keys_NMD, before_NM)
        weights_NM = compute_weights(scores_NM, readable_NM, before_NM, memory.share)
        factors_M = items.get_factors(time)
        if factors_M is not None:
            weights_NM = weights_NM * factors_M
            weights_NM = weights_NM / weights_NM.sum(1, keepdim=True).clamp_min(1e-20)
        context_NC = items.apply_gate((weights_NM[:, None] @ items_NMC).squeeze(1))
        words_NW = self.embed_words(ids_N)
        hidden_NW = self.cell(torch.cat([words_NW, context_NC], 1), hidden_NW)
        mixed_NW = torch.tanh(self.hidden_out(hidden_NW) + self.context_out(context_NC))
        return self.compute_logits(mixed_NW), (hidden_NW, weights_NM)

    def write(
        self, frames_BFE: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> RecurrentStepper:
        """Return the decoder over these recordings, which writes one token at a time."""
        heard = self.encode(frames_BFE, changed)
        return RecurrentStepper(self, heard, self.make_first_state(heard))
