"""The recurrent translator of Bahdanau et al. 2015, with additive attention and without any.

A bidirectional GRU reads the source; another GRU writes, and before each token it looks at what was
read (survey Eq. 9-14, multimedia paper Figs 2 and 3). Without attention it knows the source by one
vector, the ends of both readings, which it gets before each token (Cho et al. 2014; survey Eq.
4-8): the control, which differs in nothing else.
Shapes: B sentences, N = B * K rows of K beams a sentence, M source items, T target items, W width,
C = 2 W channels of a source item, G = 3 W of the gates, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.additive import AdditiveAttention, ItemMemory
from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.data.tokenizer import PAD
from areaviz.models.network import Pass, SingleItemOptions
from areaviz.models.recurrent import (
    SITE,
    SITES,
    RecurrentStepper,
    RecurrentTranslator,
    State,
    items_to_read,
    read_items,
)
from areaviz.trace.limits import choice

ATTENTIONS = ("additive", "none")


@dataclass(frozen=True, slots=True)
class BirnnConfig(SingleItemOptions):
    """The options of the network.

    Args:
        vocabulary: tokens.
        attention: "additive" or "none".
        width: hidden units of each direction and of the decoder, and width of a token.
        scoring: hidden units of the additive score.
        dropout: on tokens and on what is read out, 0..1.
    """

    vocabulary: int
    attention: str = "additive"
    width: int = 256
    scoring: int = 256
    dropout: float = 0.3

    def __post_init__(self) -> None:
        choice("attention", self.attention, ATTENTIONS)

    @property
    def layers(self) -> int:
        """1, or 0 without attention."""
        return int(self.attention != "none")

    @property
    def mechanism(self) -> str:
        """The survey's name for it."""
        return "item-wise soft" if self.layers else "none"

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return f"GRU, {'additive' if self.layers else 'no'} attention"


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of B sentences.

    Args:
        ends: the last states of both directions, [B, C].
        items: what is attended to; None without attention.
    """

    ends: Tensor
    items: ItemMemory | None


class Birnn(RecurrentTranslator):
    """The whole network."""

    def __init__(self, config: BirnnConfig) -> None:
        super().__init__(config.vocabulary, config.width, config.dropout)
        self.config: BirnnConfig = config
        self.sites = SITES if config.layers else {}
        width, channels = config.width, 2 * config.width
        self.forwards = nn.GRU(width, width, batch_first=True)
        self.backwards = nn.GRU(width, width, batch_first=True)
        self.start = nn.Linear(channels, width)
        self.attention: AdditiveAttention | None = None
        if config.layers:
            self.attention = AdditiveAttention(width, channels, config.scoring)
        # To the gates of the decoder's GRU, reset, update and new state, side by side.
        self.word_gates = nn.Linear(width, 3 * width)
        self.context_gates = nn.Linear(channels, 3 * width, bias=False)
        self.hidden_gates = nn.Linear(width, 3 * width)
        self.hidden_out = nn.Linear(width, width)
        self.context_out = nn.Linear(channels, width, bias=False)

    def areas(self, name: str) -> AreaOptions:
        """How a field is seen: item by item."""
        return self.config.areas(0)

    def attend(
        self,
        source_BM: Tensor,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: Changed = UNCHANGED,
    ) -> Pass:
        """All tokens one after the other; no weights where there is no attention."""
        reading, (hidden_BW,) = self.read(source_BM, changed, target_BT.shape[1])
        words_BTW = self.words(target_BT)
        hiddens, contexts, weights = [], [], []
        for time, word_BG in enumerate(self.word_gates(words_BTW).unbind(1)):
            context_BC, weights_BM = self.look(hidden_BW, reading, time)
            hidden_BW = self.next(word_BG, context_BC, hidden_BW)
            hiddens.append(hidden_BW)
            contexts.append(context_BC)
            weights.append(weights_BM)
        logits = self.read_out(words_BTW, torch.stack(hiddens, 1), torch.stack(contexts, 1))
        if not need_weights or self.attention is None:
            return Pass(logits, {})
        weights_B1TM = torch.stack([one for one in weights if one is not None], 1)[:, None]
        return Pass(logits, {SITE: [weights_B1TM]})

    def read(
        self, source_BM: Tensor, changed: Changed = UNCHANGED, times: int = 1
    ) -> tuple[Reading, State]:
        """What is read of sentences, for so many tokens to write, and the decoder's first state."""
        words_BMW = self.words(source_BM)
        seen_BM = items_to_read(source_BM, changed.hidden("source"))
        ahead_BMW, last_BW = read_items(self.forwards, words_BMW, seen_BM)
        back_BMW, first_BW = read_items(self.backwards, words_BMW, seen_BM, is_backwards=True)
        ends_BC = torch.cat([last_BW, first_BW], 1)
        items = None
        if self.attention is not None:
            items_BMC = torch.cat([ahead_BMW, back_BMW], 2)
            interventions = changed.at(SITE, 0)
            items = self.attention.remember(items_BMC, source_BM == PAD, interventions, times)
        return Reading(ends_BC, items), (torch.tanh(self.start(ends_BC)),)

    def look(
        self, hidden_NW: Tensor, reading: Reading, time: int = 0
    ) -> tuple[Tensor, Tensor | None]:
        """What each row reads before its next token, [N, C], and its weights [N, M]."""
        sentences = len(reading.ends)
        if self.attention is None or reading.items is None:
            return reading.ends.repeat_interleave(len(hidden_NW) // sentences, 0), None
        query_BKW = hidden_NW.unflatten(0, (sentences, -1))
        context_BKC, weights_BKM = self.attention.ask(query_BKW, reading.items, time)
        return context_BKC.flatten(0, 1), weights_BKM.flatten(0, 1)

    def next(self, word_NG: Tensor, context_NC: Tensor, hidden_NW: Tensor) -> Tensor:
        """The state [N, W] after a token, given by its part of the gates, and what was read."""
        reset, update, new = (word_NG + self.context_gates(context_NC)).chunk(3, 1)
        reset_old, update_old, old = self.hidden_gates(hidden_NW).chunk(3, 1)
        new_NW = torch.tanh(new + torch.sigmoid(reset + reset_old) * old)
        keep_NW = torch.sigmoid(update + update_old)
        return new_NW + keep_NW * (hidden_NW - new_NW)

    def read_out(self, words: Tensor, hidden: Tensor, context: Tensor) -> Tensor:
        """Logits [..., V] from the last token, the state and what was read."""
        mixed = words + self.hidden_out(hidden) + self.context_out(context)
        return self.logits(torch.tanh(mixed))

    def advance(self, ids_N: Tensor, state: State, memory: Reading) -> tuple[Tensor, State]:
        """Logits [N, V] after one more token of every row, and the state that knows it."""
        (hidden_NW,), words_NW = state, self.words(ids_N)
        context_NC, _ = self.look(hidden_NW, memory)
        hidden_NW = self.next(self.word_gates(words_NW), context_NC, hidden_NW)
        return self.read_out(words_NW, hidden_NW, context_NC), (hidden_NW,)

    def write(self, source_BM: Tensor, changed: Changed = UNCHANGED) -> RecurrentStepper:
        """The decoder over these sources, one token at a time."""
        return RecurrentStepper(self, *self.read(source_BM, changed))
