"""A pointer network, whose output is its attention to the points.

Vinyals, Fortunato and Jaitly 2015, Eq. 3. One LSTM reads the points in both directions. Another
LSTM writes, and at each step the network scores every point:

    u_j = v . tanh(W1 e_j + W2 d_i),    p(C_i = j) = softmax(u)_j

The networks of the paper end an answer with a symbol. This network ends it by pointing at the first
point again, which closes a hull or a tour. Choices that cannot follow are masked: points that were
already passed, and the first point while the answer is too short to close.

Shapes: B sets, N points, T steps with the closing one, W width, K beams, R = B * K rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.trace.areas import AreaGrid

SITE = "pointer"
SITES: Mapping[str, tuple[str, str]] = {SITE: ("target", "points")}
MIN_HULL_POINTS = 3
"""Number of points of the smallest hull."""


@dataclass(frozen=True, slots=True)
class PointerConfig:
    """The options of a pointer network.

    Args:
        kind: "hull" or "tour".
        width: hidden units of the LSTM that writes, and of each direction of the LSTM that reads.
    """

    kind: str
    width: int = 128

    def count_required_points(self, points: int) -> int:
        """Return the number of points to pass before the answer may close."""
        return points if self.kind == "tour" else min(points, MIN_HULL_POINTS)


@dataclass(frozen=True, slots=True)
class EncodedPoints:
    """The encoder output for a batch of sets: the pointer's keys and the writer's first state."""

    keys_BNW: Tensor
    points_BN2: Tensor
    state: tuple[Tensor, Tensor]


class PointerNetwork(nn.Module):
    """A pointer network, from normalised points in reading order to a sequence of chosen points."""

    def __init__(self, config: PointerConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.reader = nn.LSTM(2, width, batch_first=True, bidirectional=True)
        self.writer = nn.LSTM(2, width, batch_first=True)
        self.begin = nn.Parameter(torch.zeros(2))
        self.hidden = nn.Linear(2 * width, width)
        self.cell = nn.Linear(2 * width, width)
        self.key = nn.Linear(2 * width, width)
        self.query = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def encode(self, points_BN2: Tensor) -> EncodedPoints:
        """Encode sets with equal numbers of points."""
        items_BNW, (hidden_2BW, cell_2BW) = self.reader(points_BN2)
        hidden_BW = torch.tanh(self.hidden(hidden_2BW.transpose(0, 1).flatten(1)))
        cell_BW = self.cell(cell_2BW.transpose(0, 1).flatten(1))
        return EncodedPoints(self.key(items_BNW), points_BN2, (hidden_BW[None], cell_BW[None]))

    def forward(
        self, points_BN2: Tensor, answers_BT: Tensor, changed: NetworkInterventions = UNCHANGED
    ) -> Tensor:
        """Return the log-probability of every point at every step of given answers: [B, T, N].

        An answer ends with its first point. The entries after it are -1, and the results there have
        no meaning.
        """
        read = self.encode(points_BN2)
        given_BT = answers_BT.clamp_min(0)
        taken_BT2 = points_BN2.gather(1, given_BT[..., None].expand(-1, -1, 2))
        begin_B12 = self.begin.expand(len(points_BN2), 1, 2)
        written_BTW, _ = self.writer(torch.cat([begin_B12, taken_BT2[:, :-1]], 1), read.state)
        banned_BTN = make_invalid_choices_mask(given_BT, points_BN2.shape[1], self.config)
        return self.compute_log_probabilities(written_BTW, read.keys_BNW, banned_BTN, changed)

    def compute_log_probabilities(
        self,
        written_BTW: Tensor,
        keys_BNW: Tensor,
        banned_BTN: Tensor,
        changed: NetworkInterventions,
    ) -> Tensor:
        """Return the log-probabilities [B, T, N] of the points. Banned points get -inf."""
        query_BTW = self.query(written_BTW)
        mixed_BTNW = torch.tanh(keys_BNW[:, None] + query_BTW[:, :, None])
        logits_BTN = self.score(mixed_BTNW)[..., 0].float()
        logits_BTN = logits_BTN.masked_fill(banned_BTN, -torch.inf)
        return F.log_softmax(reweight_logits(logits_BTN, SITE, 0, changed), 2)


def reweight_logits(
    logits_BTN: Tensor, site: str, layer: int, changed: NetworkInterventions
) -> Tensor:
    """Apply a request's changes to logits of single items.

    w' = f w / sum f w adds log f to each logit. If the changes ban every item that is left, they
    are ignored for this step, because the network has to choose an item.
    """
    own = changed.get_layer_changes(site, layer)
    steps, items = logits_BTN.shape[1:]
    grid = AreaGrid(1, items, 1, 1)
    factor_1TN = own.compute_multipliers(grid, steps, logits_BTN.device) if own else None
    if factor_1TN is None:
        return logits_BTN
    found_BTN = logits_BTN + factor_1TN.log()
    dead_BT1 = torch.isneginf(found_BTN).all(2, keepdim=True)
    return torch.where(dead_BT1, logits_BTN, found_BTN)


def make_invalid_choices_mask(answers_BT: Tensor, points: int, config: PointerConfig) -> Tensor:
    """Return which points cannot follow at each step of given answers: bool [B, T, N]."""
    passed_BTN = F.one_hot(answers_BT, points).cumsum(1).bool()
    banned_BTN = torch.zeros_like(passed_BTN)
    banned_BTN[:, 1:] = passed_BTN[:, :-1]
    # The first point closes the answer as soon as enough points are passed.
    least = config.count_required_points(points)
    first_B1N = F.one_hot(answers_BT[:, :1], points).bool()
    banned_BTN[:, least:] &= ~first_B1N
    return banned_BTN


class PointerStepper:
    """A pointer network as a stepper. The symbol before and after an answer is N."""

    def __init__(
        self,
        network: PointerNetwork,
        read: EncodedPoints,
        width: int,
        changed: NetworkInterventions = UNCHANGED,
    ) -> None:
        self.network, self.changed = network, changed
        self.keys_RNW = read.keys_BNW.repeat_interleave(width, 0)
        self.points_RN2 = read.points_BN2.repeat_interleave(width, 0)
        hidden, cell = (part.repeat_interleave(width, 1) for part in read.state)
        self.state = (hidden.contiguous(), cell.contiguous())
        rows = len(self.keys_RNW)
        self.passed_RT = torch.zeros(rows, 0, dtype=torch.int64, device=self.keys_RNW.device)

    def step(self, tokens: Tensor) -> Tensor:
        """Return log-probabilities [R, N + 1] of the points and of closing the answer."""
        tokens_R1 = tokens.to(self.keys_RNW.device)[:, None]
        rows, points = self.points_RN2.shape[:2]
        if self.passed_RT.shape[1] == 0 and bool((tokens == points).all()):
            fed_R12 = self.network.begin.expand(rows, 1, 2)
        else:
            # A finished row is fed the end symbol, and its results are ignored.
            tokens_R1 = tokens_R1.clamp_max(points - 1)
            self.passed_RT = torch.cat([self.passed_RT, tokens_R1], 1)
            fed_R12 = self.points_RN2.gather(1, tokens_R1[..., None].expand(-1, -1, 2))
        written_R1W, self.state = self.network.writer(fed_R12, self.state)
        banned_R1N = self._find_invalid_choices(rows, points)
        log_R1N = self.network.compute_log_probabilities(
            written_R1W, self.keys_RNW, banned_R1N, self.changed
        )
        return self._append_end(log_R1N[:, 0])

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows."""
        chosen = rows.to(self.keys_RNW.device)
        self.passed_RT = self.passed_RT[chosen]
        hidden, cell = self.state
        self.state = (hidden[:, chosen].contiguous(), cell[:, chosen].contiguous())

    def _find_invalid_choices(self, rows: int, points: int) -> Tensor:
        """Return which points cannot follow the passed ones: bool [R, 1, N]."""
        next_R1 = torch.zeros_like(self.points_RN2[:, :1, 0], dtype=torch.int64)
        answers_RT = torch.cat([self.passed_RT, next_R1], 1)
        return make_invalid_choices_mask(answers_RT, points, self.network.config)[:, -1:]

    def _append_end(self, log_RN: Tensor) -> Tensor:
        """Append a column for closing the answer, which is pointing at the first point again."""
        end_R1 = torch.full_like(log_RN[:, :1], -torch.inf)
        if self.passed_RT.shape[1]:
            first_R1 = self.passed_RT[:, :1]
            end_R1 = log_RN.gather(1, first_R1)
            log_RN = log_RN.scatter(1, first_R1, -torch.inf)
        return torch.cat([log_RN, end_R1], 1)
