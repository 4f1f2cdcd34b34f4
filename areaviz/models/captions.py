"""Networks that caption pictures: a Transformer, and the LSTM of Show, attend and tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.additive import ItemMemory, compute_additive_scores
from areaviz.attention.area import AreaOptions
from areaviz.attention.hard import choose_item
from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.models.network import (
    DecoderLayer,
    EncoderLayer,
    Pass,
    PictureNetwork,
    SingleItemOptions,
    TransformerBase,
    TransformerOptions,
    TransformerStepper,
    initialise_weights,
    run_encoder,
)
from areaviz.models.recurrent import RecurrentStepper, TiedWords, repeat_states
from areaviz.models.tokenizer import PAD
from areaviz.trace.errors import check_choice

# The captioning Transformer, which encodes a grid of picture features and writes a sentence.
#
# The first layers use 2-D areas of at most 3 x 3 cells (Li et al. 2019, section 4.2). They use them
# in the encoder's self-attention and in the attention from the caption to the picture.
#
# Shapes: B batch, N captions, M = G * G cells, C channels, T words, W model width, V vocabulary.


@dataclass(frozen=True, slots=True)
class CaptionerConfig(TransformerOptions):
    """The options of the network. Areas, and the convolution over keys, apply to the grid only.

    Args:
        encoder: options of the picture encoder, see `EncoderConfig`.
        grid: side of the grid of cells.
    """

    width: int = 256
    filter: int = 1024
    dropout: float = 0.2
    encoder: Mapping[str, Any] = field(default_factory=dict)
    grid: int = 8

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return self.describe_attention((self.grid, self.grid))

    def areas(self, layer: int) -> AreaOptions:
        """Return the areas that the given layer (0-based) forms on the grid."""
        return self.make_layer_options(layer, (self.grid, self.grid))


class CaptionTransformer(TransformerBase, PictureNetwork):
    """The captioner, from pixels to words.

    Args:
        config: the options.
        impl: see `area_attention`.
    """

    inputs = ("picture",)
    sites = {
        "encoder-decoder": ("target", "picture"),
        "encoder self": ("picture", "picture"),
        "decoder self": ("target", "history"),
    }

    def __init__(self, config: CaptionerConfig, impl: str = "auto") -> None:
        super().__init__(config.encoder, config.grid)
        self.config: CaptionerConfig = config
        self.enter = nn.Linear(self.encoder_config.width, config.width)
        # The position embeddings start about as large as the features to which they are added. If
        # they are much smaller, the network does not learn relations between places.
        self.place = nn.Parameter(torch.randn(config.grid**2, config.width) * 0.5)
        self.embedding = nn.Embedding(config.vocabulary, config.width, padding_idx=PAD)
        layers = [config.areas(layer) for layer in range(config.layers)]
        self.encoder = nn.ModuleList(EncoderLayer(config, areas, impl) for areas in layers)
        self.decoder = nn.ModuleList(
            DecoderLayer(config, AreaOptions(), areas, impl) for areas in layers
        )
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)
        initialise_weights(self, self.embedding)

    def areas(self, name: str) -> AreaOptions:
        """Return the areas that the first layer forms on a field. Only the picture has areas."""
        return self.config.areas(0) if name == "picture" else AreaOptions()

    def forward(self, features_BMC: Tensor, target_NT: Tensor) -> Tensor:
        """Return the logits [N, T, V] of the next word after each word of N captions.

        The captions are sorted by picture.
        """
        memory_BMW, _ = self.encode(features_BMC)
        return self.decode(memory_BMW, None, target_NT, need_weights=False).logits

    def attend(
        self, features_BMC: Tensor, target_BT: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> Pass:
        """Run one pass and return its logits and the area weights of every site."""
        memory_BMW, encoder_self = self.encode(features_BMC, need_weights=True, changed=changed)
        run = self.decode(memory_BMW, None, target_BT, need_weights=True, changed=changed)
        return Pass(run.logits, {"encoder self": encoder_self, **run.weights})

    def encode(
        self,
        features_BMC: Tensor,
        need_weights: bool = False,
        changed: NetworkInterventions = UNCHANGED,
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the encoder's output [B, M, W] and its weights, one tensor per layer."""
        x_BMW = self.dropout(self.norms[0](self.enter(features_BMC)) + self.place)
        x_BMW, weights = run_encoder(self.encoder, x_BMW, None, need_weights, changed)
        return self.norms[1](x_BMW), weights

    def write(
        self, features_BMC: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> TransformerStepper:
        """Return a decoder that reads these pictures and writes one word at a time."""
        memory_BMW, _ = self.encode(features_BMC, changed=changed)
        return self.make_stepper(memory_BMW, None, changed)

    def normalise_output(self, x_BTW: Tensor) -> Tensor:
        """Apply the decoder's last normalisation."""
        normed: Tensor = self.norms[2](x_BTW)
        return normed


# Show, attend and tell (Xu et al. 2015), an LSTM that attends to picture cells before each word.
#
# Soft attention reads the weighted sum of all cells (survey Eq. 9-14), and hard attention reads one
# cell (Eq. 15-17). The variant without attention is the control: only the first state depends on
# the picture (Vinyals et al. 2015).
#
# Shapes: B pictures, N = B * K sentences, picture by picture, M = G * G cells, C channels, T words,
# W hidden width, D width of the scores' hidden layer, V vocabulary.


SITE = "encoder-decoder"
CAPTION_ATTENTIONS = ("soft", "hard", "none")


@dataclass(frozen=True, slots=True)
class TellerConfig(SingleItemOptions):
    """The options of the network.

    Args:
        vocabulary: number of words.
        attention: "soft", "hard" or "none".
        encoder: options of the picture encoder, see `EncoderConfig`.
        grid: side of the grid of cells.
        width: hidden units, and the width of a word.
        scoring: hidden units of the additive score.
        dropout: dropout on words and on the decoder's output, 0..1.
        overview: whether the first state depends on the mean of all cells (Xu et al. 2015, section
            3.1.2). Without it, a sentence can use only cells that were attended to.
        forgetting: probability in training that the state does not get the context of a step, 0..1.
            It rewards attending again to what the next word describes.
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
        check_choice("attention", self.attention, CAPTION_ATTENTIONS)

    @property
    def layers(self) -> int:
        """The number of attention layers: 1, or 0 without attention."""
        return int(self.attention != "none")

    @property
    def mechanism(self) -> str:
        """The survey's name for the attention mechanism."""
        return "none" if self.attention == "none" else f"item-wise {self.attention}"

    @property
    def about(self) -> str:
        """The kind of attention in words."""
        return (
            "no attention" if self.attention == "none" else f"{self.attention} attention to cells"
        )

    def areas(self, layer: int) -> AreaOptions:
        """Return options for single cells."""
        return AreaOptions((1, 1), shape=(self.grid, self.grid))


class State(NamedTuple):
    """The recurrent state of N sentences. Both tensors are [N, W]."""

    hidden: Tensor
    cell: Tensor


@dataclass(frozen=True, slots=True)
class Look:
    """The attention of one step, one per sentence.

    Args:
        context: the context, [N, C].
        weights: [N, M].
        chosen: the chosen cell, int64 [N].
        log_probability: log-probability of the choice, [N].
    """

    context: Tensor
    weights: Tensor
    chosen: Tensor
    log_probability: Tensor


@dataclass(frozen=True, slots=True)
class CaptionPass:
    """All words of N sentences and the attention before each word.

    Args:
        logits: [N, T, V].
        weights: [N, T, M].
        chosen: the chosen cells, int64 [N, T].
        log_probability: log-probabilities of the choices, [N, T].
    """

    logits: Tensor
    weights: Tensor
    chosen: Tensor
    log_probability: Tensor


class ShowAttendTell(TiedWords, PictureNetwork):
    """The captioner, from pixels to words. Training uses `usual`, see `compute_choice_loss`."""

    inputs = ("picture",)
    usual: Tensor

    def __init__(self, config: TellerConfig) -> None:
        super().__init__(config.encoder, config.grid)
        self.config: TellerConfig = config
        self.sites = {SITE: ("target", "picture")} if config.layers else {}
        channels, width = self.encoder_config.width, config.width
        self.norm = nn.LayerNorm(channels)
        # Features describe the content of a cell but not its position, and sentences need both.
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
        """Return the areas of a field: single items."""
        return self.config.areas(0) if name == "picture" else AreaOptions()

    def forward(self, features_BMC: Tensor, target_NT: Tensor) -> Tensor:
        """Return logits [N, T, V]. Hard attention picks the heaviest cells."""
        return self.run(features_BMC, target_NT).logits

    def attend(
        self, features_BMC: Tensor, target_BT: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> Pass:
        """Return the logits with the weights of the cells, which are absent without attention."""
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
        changed: NetworkInterventions = UNCHANGED,
    ) -> CaptionPass:
        """Process all words of N sentences, teacher-forced.

        Args:
            features_BMC: the cells of the pictures.
            target_NT: the sentences, picture by picture.
            sample: whether hard attention samples its cells. Otherwise it picks the heaviest ones.
            changed: changes to the attention.
        """
        cells, state = self.build_memory(features_BMC, changed, target_NT.shape[1])
        state = State(*repeat_states(state, len(target_NT)))
        words_NTW = self.embed_words(target_NT)
        states, looks = [], []
        for step, word_NW in enumerate(words_NTW.unbind(1)):
            look = self.attend_to_cells(cells, state, sample, step)
            state = self.update_state(word_NW, look, state)
            states.append(state.hidden)
            looks.append(look)
        contexts = torch.stack([look.context for look in looks], 1)
        return CaptionPass(
            self.read_out(words_NTW, torch.stack(states, 1), contexts),
            torch.stack([look.weights for look in looks], 1),
            torch.stack([look.chosen for look in looks], 1),
            torch.stack([look.log_probability for look in looks], 1),
        )

    def build_memory(
        self, features_BMC: Tensor, changed: NetworkInterventions = UNCHANGED, steps: int = 1
    ) -> tuple[ItemMemory, State]:
        """Return the cells of pictures with the changes for `steps` steps, and the first state."""
        value_BMC = self.norm(features_BMC)
        state = self._make_first_state(
            _average_visible_cells(value_BMC, changed.list_hidden("picture"))
        )
        value_BMC = value_BMC + self.place
        grid = self.config.areas(0).make_grid(value_BMC.shape[1])
        interventions, key_BMD = changed.get_layer_changes(SITE, 0), self.key(value_BMC)
        return ItemMemory.with_changes(value_BMC, key_BMD, None, interventions, steps, grid), state

    def _make_first_state(self, mean_BC: Tensor) -> State:
        if self.start is None:
            nothing_BW = mean_BC.new_zeros(len(mean_BC), self.config.width)
            return State(nothing_BW, nothing_BW)
        hidden_BW, cell_BW = torch.tanh(self.start(mean_BC)).chunk(2, 1)
        return State(hidden_BW, cell_BW)

    def attend_to_cells(self, cells: ItemMemory, state: State, sample: bool, step: int = 0) -> Look:
        """Attend to the cells with K sentences per picture.

        The scores are additive. The context is the weighted sum of all cells or one cell.
        """
        if self.config.attention == "none":
            return _make_empty_look(cells, state)
        query_BKW = state.hidden.unflatten(0, (len(cells.value), -1))
        score_BKM = compute_additive_scores(self.query, self.score, query_BKW, cells)
        weights_BKM = cells.compute_weights(score_BKM, step)
        weights_NM = weights_BKM.flatten(0, 1)
        chosen_N, log_N = choose_item(weights_NM, sample)
        read_BKM = weights_BKM
        if self.config.attention == "hard":
            one_BKM = F.one_hot(chosen_N, weights_BKM.shape[2]).to(weights_BKM)
            # If every cell is banned, the context is zero.
            read_BKM = one_BKM.view_as(weights_BKM) * (weights_BKM > 0)
        context_NC = cells.apply_gate((read_BKM @ cells.value).flatten(0, 1))
        # A gate scales the context by its importance for the next word (Xu et al. 2015, section
        # 4.2.1).
        gate_N1 = self.gate(state.hidden).sigmoid()
        return Look(gate_N1 * context_NC, weights_NM, chosen_N, log_N)

    def update_state(self, word_NW: Tensor, look: Look, state: State) -> State:
        """Return the state after one more word and the attention before it."""
        seen_NC = look.context
        if self.training and self.config.forgetting:
            seen_NC = seen_NC * (torch.rand_like(seen_NC[:, :1]) >= self.config.forgetting)
        return State(*self.core(torch.cat([word_NW, seen_NC], 1), state))

    def read_out(self, words: Tensor, hidden: Tensor, context: Tensor) -> Tensor:
        """Compute logits [..., V] from the last word, the state and the context."""
        mixed = torch.tanh(words + self.from_hidden(hidden) + self.from_context(context))
        return self.compute_logits(mixed)

    def write(
        self, features_BMC: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> RecurrentStepper:
        """Return the decoder over these pictures, which writes one word at a time."""
        return RecurrentStepper(self, *self.build_memory(features_BMC, changed))

    def advance(
        self, ids_N: Tensor, state: tuple[Tensor, ...], memory: ItemMemory
    ) -> tuple[Tensor, State]:
        """Return the logits [N, V] after one more word of every row, and the new state."""
        word_NW = self.embed_words(ids_N)
        look = self.attend_to_cells(memory, State(*state), sample=False)
        after = self.update_state(word_NW, look, State(*state))
        return self.read_out(word_NW, after.hidden, look.context), after


def _average_visible_cells(value_BMC: Tensor, hidden: Sequence[int]) -> Tensor:
    """Return the mean of the visible cells, [B, C], or zeros if all are hidden."""
    if not hidden:
        return value_BMC.mean(1)
    seen_M = torch.ones(value_BMC.shape[1], dtype=torch.bool, device=value_BMC.device)
    seen_M[list(hidden)] = False
    return value_BMC[:, seen_M].sum(1) / seen_M.sum().clamp_min(1)


def _make_empty_look(cells: ItemMemory, state: State) -> Look:
    """Return a step without attention, with a context of zeros."""
    rows = len(state.cell)
    context_NC = cells.value.new_zeros(rows, cells.value.shape[2])
    nothing_N = state.cell.new_zeros(rows)
    return Look(context_NC, nothing_N[:, None], nothing_N.long(), nothing_N)
