"""Show, attend and tell (Xu et al. 2015): a recurrent network looks at a grid of a picture before
each word.

Soft attention reads the weighted sum of all cells (survey Eq. 9-14), hard attention reads one (Eq.
15-17), and without attention only the first state knows the picture (Vinyals et al. 2015), which is
the control.
Shapes: B pictures, N = B * K sentences, picture by picture, M = G * G cells, C channels, T words,
W hidden width, D width of the scores' hidden layer, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.area import AreaOptions
from areaviz.attention.hard import choose_item
from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.data.tokenizer import PAD
from areaviz.models.network import Pass, PictureNetwork, SingleItemOptions
from areaviz.models.recurrent import RecurrentStepper, repeated
from areaviz.trace.limits import choice

SITE = "encoder-decoder"
ATTENTIONS = ("soft", "hard", "none")


@dataclass(frozen=True, slots=True)
class TellerConfig(SingleItemOptions):
    """The options of the network.

    Args:
        vocabulary: words.
        attention: "soft", "hard" or "none".
        encoder: of the pictures, see `EncoderConfig`.
        grid: side of the grid that is attended to.
        width: hidden units, and width of a word.
        scoring: hidden units of the additive score.
        dropout: on words and on what is read out, 0..1.
        overview: whether the first state knows the mean of all cells (Xu et al. 2015, section
            3.1.2); without it, all that a sentence says has been looked at.
        forgetting: chance in training that a look leaves no memory, 0..1, so that it pays to look
            again at what is said next.
    """

    item: ClassVar[str] = "cell"

    vocabulary: int
    attention: str = "soft"
    encoder: Mapping[str, Any] = field(default_factory=dict)
    grid: int = 14
    width: int = 256
    scoring: int = 128
    dropout: float = 0.4
    overview: bool = True
    forgetting: float = 0.0

    def __post_init__(self) -> None:
        choice("attention", self.attention, ATTENTIONS)

    @property
    def layers(self) -> int:
        """1, or 0 without attention."""
        return int(self.attention != "none")

    @property
    def mechanism(self) -> str:
        """The survey's name for it."""
        return "none" if self.attention == "none" else f"item-wise {self.attention}"

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return (
            "no attention" if self.attention == "none" else f"{self.attention} attention to cells"
        )

    def areas(self, layer: int) -> AreaOptions:
        """Single cells."""
        return AreaOptions((1, 1), shape=(self.grid, self.grid))


@dataclass(frozen=True, slots=True)
class Cells:
    """What is attended to.

    Args:
        value: [B, M, C].
        key: [B, M, D].
        factors: what weights are multiplied by, [T or 1, M]; None for nothing.
        gate: what is read is multiplied by this.
    """

    value: Tensor
    key: Tensor
    factors: Tensor | None = None
    gate: float = 1.0

    def factors_at(self, step: int) -> Tensor | None:
        """The factors of one step, [M]; the last is that of all later ones."""
        return None if self.factors is None else self.factors[min(step, len(self.factors) - 1)]


class State(NamedTuple):
    """The state of the recurrent network after some words of N sentences: both [N, W]."""

    hidden: Tensor
    cell: Tensor


@dataclass(frozen=True, slots=True)
class Look:
    """One look a sentence.

    Args:
        context: what was read, [N, C].
        weights: [N, M].
        chosen: the cell, int64 [N].
        log_probability: of the choice, [N].
    """

    context: Tensor
    weights: Tensor
    chosen: Tensor
    log_probability: Tensor


@dataclass(frozen=True, slots=True)
class CaptionPass:
    """All words of N sentences and the looks before them.

    Args:
        logits: [N, T, V].
        weights: [N, T, M].
        chosen: the cells, int64 [N, T].
        log_probability: of the choices, [N, T].
    """

    logits: Tensor
    weights: Tensor
    chosen: Tensor
    log_probability: Tensor


class ShowAttendTell(PictureNetwork):
    """The whole network, from pixels to words. `usual` is for training: see `choice_loss`."""

    inputs = ("picture",)
    usual: Tensor

    def __init__(self, config: TellerConfig) -> None:
        super().__init__(config.encoder, config.grid)
        self.config: TellerConfig = config
        self.sites = {SITE: ("target", "picture")} if config.layers else {}
        channels, width = self.encoder_config.width, config.width
        self.norm = nn.LayerNorm(channels)
        # Features say what is in a cell, not where it is; sentences need both.
        self.place = nn.Parameter(torch.randn(config.grid**2, channels) * 0.5)
        self.start = nn.Linear(channels, 2 * width) if config.overview else None
        self.embedding = nn.Embedding(config.vocabulary, width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.key = nn.Linear(channels, config.scoring, bias=False)
        self.query = nn.Linear(width, config.scoring)
        self.score = nn.Linear(config.scoring, 1)
        self.gate = nn.Linear(width, 1)
        self.core = nn.LSTMCell(width + channels, width)
        self.from_hidden = nn.Linear(width, width)
        self.from_context = nn.Linear(channels, width, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("usual", torch.zeros(config.vocabulary))

    def areas(self, name: str) -> AreaOptions:
        """How a field is seen: item by item."""
        return self.config.areas(0) if name == "picture" else AreaOptions()

    def forward(self, features_BMC: Tensor, target_NT: Tensor) -> Tensor:
        """Logits [N, T, V]; hard attention takes the heaviest cells."""
        return self.run(features_BMC, target_NT).logits

    def attend(self, features_BMC: Tensor, target_BT: Tensor, changed: Changed = UNCHANGED) -> Pass:
        """The same, with the weights of the cells; nothing where there is no attention."""
        run = self.run(features_BMC, target_BT, changed=changed)
        if self.config.attention == "none":
            return Pass(run.logits, {})
        chosen = {SITE: [run.chosen[:, None]]} if self.config.attention == "hard" else {}
        return Pass(run.logits, {SITE: [run.weights[:, None]]}, chosen)

    def run(
        self,
        features_BMC: Tensor,
        target_NT: Tensor,
        sample: bool = False,
        changed: Changed = UNCHANGED,
    ) -> CaptionPass:
        """All words of N sentences, teacher-forced; `sample`: hard attention draws its cells."""
        cells, state = self.remember(features_BMC, changed, target_NT.shape[1])
        state = State(*repeated(state, len(target_NT)))
        words_NTW = self.words(target_NT)
        states, looks = [], []
        for step, word_NW in enumerate(words_NTW.unbind(1)):
            look = self.look_at(cells, state, sample, step)
            state = self.next(word_NW, look, state)
            states.append(state.hidden)
            looks.append(look)
        contexts = torch.stack([look.context for look in looks], 1)
        return CaptionPass(
            self.read_out(words_NTW, torch.stack(states, 1), contexts),
            torch.stack([look.weights for look in looks], 1),
            torch.stack([look.chosen for look in looks], 1),
            torch.stack([look.log_probability for look in looks], 1),
        )

    def remember(
        self, features_BMC: Tensor, changed: Changed = UNCHANGED, steps: int = 1
    ) -> tuple[Cells, State]:
        """The cells of pictures, under the interventions of so many steps, and the first state."""
        value_BMC = self.norm(features_BMC)
        state = self._begin(_mean(value_BMC, changed.hidden("picture")))
        value_BMC = value_BMC + self.place
        cells = Cells(value_BMC, self.key(value_BMC))
        interventions = changed.at(SITE, 0)
        if interventions is None:
            return cells, state
        grid = self.config.areas(0).grid(value_BMC.shape[1])
        factors_1QM = interventions.multipliers(grid, steps, value_BMC.device)
        factors_QM = None if factors_1QM is None else factors_1QM[0]
        gate = float(interventions.gated(torch.ones(1, 1, 1)))
        return replace(cells, factors=factors_QM, gate=gate), state

    def _begin(self, mean_BC: Tensor) -> State:
        if self.start is None:
            nothing_BW = mean_BC.new_zeros(len(mean_BC), self.config.width)
            return State(nothing_BW, nothing_BW)
        hidden_BW, cell_BW = torch.tanh(self.start(mean_BC)).chunk(2, 1)
        return State(hidden_BW, cell_BW)

    def look_at(self, cells: Cells, state: State, sample: bool, step: int = 0) -> Look:
        """Attend to the cells, K sentences a picture: additive scores, then the sum or one cell."""
        if self.config.attention == "none":
            return _blind(cells, state)
        query_BK1D = self.query(state.hidden).unflatten(0, (len(cells.key), -1)).unsqueeze(2)
        score_BKM = self.score(torch.tanh(cells.key[:, None] + query_BK1D)).squeeze(3)
        weights_BKM = _weights(score_BKM, cells.factors_at(step))
        weights_NM = weights_BKM.flatten(0, 1)
        chosen_N, log_N = choose_item(weights_NM, sample)
        read_BKM = weights_BKM
        if self.config.attention == "hard":
            one_BKM = F.one_hot(chosen_N, weights_BKM.shape[2]).to(weights_BKM)
            # Where every cell is banned, none is read.
            read_BKM = one_BKM.view_as(weights_BKM) * (weights_BKM > 0)
        context_NC = (read_BKM @ cells.value).flatten(0, 1)
        if cells.gate != 1.0:
            context_NC = context_NC * cells.gate
        # A gate decides how much of what is seen matters to the next word (Xu et al. 2015, section
        # 4.2.1).
        gate_N1 = self.gate(state.hidden).sigmoid()
        return Look(gate_N1 * context_NC, weights_NM, chosen_N, log_N)

    def next(self, word_NW: Tensor, look: Look, state: State) -> State:
        """The state after one more word and the look before it."""
        seen_NC = look.context
        if self.training and self.config.forgetting:
            seen_NC = seen_NC * (torch.rand_like(seen_NC[:, :1]) >= self.config.forgetting)
        return State(*self.core(torch.cat([word_NW, seen_NC], 1), state))

    def read_out(self, words: Tensor, hidden: Tensor, context: Tensor) -> Tensor:
        """Logits [..., V] from the last word, the state and what was read, times the embeddings."""
        mixed = torch.tanh(words + self.from_hidden(hidden) + self.from_context(context))
        logits: Tensor = F.linear(self.dropout(mixed), self.embedding.weight)
        return logits

    def write(self, features_BMC: Tensor, changed: Changed = UNCHANGED) -> RecurrentStepper:
        """The decoder over these pictures, one word at a time."""
        return RecurrentStepper(self, *self.remember(features_BMC, changed))

    def advance(
        self, ids_N: Tensor, state: tuple[Tensor, ...], memory: Cells
    ) -> tuple[Tensor, State]:
        """Logits [N, V] after one more word of every row, and the state that knows it."""
        word_NW = self.words(ids_N)
        look = self.look_at(memory, State(*state), sample=False)
        after = self.next(word_NW, look, State(*state))
        return self.read_out(word_NW, after.hidden, look.context), after

    def words(self, ids: Tensor) -> Tensor:
        """Embedded words [..., W]."""
        words: Tensor = self.dropout(self.embedding(ids) * self.config.width**0.5)
        return words


def _mean(value_BMC: Tensor, hidden: Sequence[int]) -> Tensor:
    """The mean of the cells that are not hidden, [B, C]; zeros where all are."""
    if not hidden:
        return value_BMC.mean(1)
    seen_M = torch.ones(value_BMC.shape[1], dtype=torch.bool, device=value_BMC.device)
    seen_M[list(hidden)] = False
    return value_BMC[:, seen_M].sum(1) / seen_M.sum().clamp_min(1)


def _weights(score_BKM: Tensor, factors_M: Tensor | None) -> Tensor:
    """The softmax, with every cell's weight times its factor; zeros where all are banned."""
    if factors_M is None:
        return score_BKM.softmax(2)
    if not factors_M.any():
        return torch.zeros_like(score_BKM)
    return (score_BKM + factors_M.log()).softmax(2)


def _blind(cells: Cells, state: State) -> Look:
    """A look that sees nothing."""
    rows = len(state.cell)
    context_NC = cells.value.new_zeros(rows, cells.value.shape[2])
    nothing_N = state.cell.new_zeros(rows)
    return Look(context_NC, nothing_N[:, None], nothing_N.long(), nothing_N)
