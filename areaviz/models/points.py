"""The pointer network: the network, its batches of points, and the model that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.cards.card import Card
from areaviz.models.base import OnStep, build_untrained, load_weights, prepare_for_inference
from areaviz.models.decoding import Hypothesis, beam_search
from areaviz.samples.reasoning import (
    FEWEST,
    MOST,
    POINT_KINDS,
    PointSets,
    compute_signed_area,
    measure_tour_length,
    normalise_points,
    order_around_mean,
    solve_exactly,
)
from areaviz.trace.areas import AreaGrid
from areaviz.trace.changes import Places, Weigh
from areaviz.trace.errors import InputError
from areaviz.trace.kinds import EXTENT, make_points_field, parse_points
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Request

# A pointer network, whose output is its attention to the points.
#
# Vinyals, Fortunato and Jaitly 2015, Eq. 3. One LSTM reads the points in both directions. Another
# LSTM writes, and at each step the network scores every point:
#
#     u_j = v . tanh(W1 e_j + W2 d_i),    p(C_i = j) = softmax(u)_j
#
# The networks of the paper end an answer with a symbol. This network ends it by pointing at the
# first point again, which closes a hull or a tour. Choices that cannot follow are masked: points
# that were already passed, and the first point while the answer is too short to close.
#
# Shapes: B sets, N points, T steps with the closing one, W width, K beams, R = B * K rows.


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


# Sets of points in the form that a pointer network reads.
#
# Shapes: B sets, N points, T steps with the closing one.


@dataclass(frozen=True, slots=True)
class PointBatch:
    """A batch of point sets in the form that the network reads."""

    # [B, N, 2], in reading order.
    points_BN2: Tensor
    # int64 [B, T]. Each answer ends with its first point, and the entries after it are -1.
    answers_BT: Tensor


def make_point_batch(sets: PointSets, device: torch.device) -> PointBatch:
    """Return the sets in reading order, with the closing step of every answer."""
    points_BN2, answers_BT = arrange_for_reading(sets)
    points = torch.from_numpy(points_BN2.astype(np.float32)).to(device)
    return PointBatch(points, torch.from_numpy(answers_BT).to(device))


def arrange_for_reading(sets: PointSets) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Sort normalised points by their angle around the mean, and renumber the closed answers.

    Returns:
        The points [B, N, 2] and the answers [B, N + 1].
    """
    order_BN = order_around_mean(sets.points)
    points_BN2 = np.take_along_axis(normalise_points(sets.points), order_BN[..., None], 1)
    place_BN = order_BN.argsort(1)
    answers_BN = np.take_along_axis(place_BN, np.maximum(sets.answers, 0), 1)
    answers_BN[sets.answers < 0] = -1
    closed_BT = np.pad(answers_BN, ((0, 0), (0, 1)), constant_values=-1)
    rows_B, lengths_B = np.arange(len(sets)), (sets.answers >= 0).sum(1)
    closed_BT[rows_B, lengths_B] = closed_BT[:, 0]
    return points_BN2, closed_BT


# A pointer network as a model, which reads points and returns its answer in a Trace.
#
# Shapes: N points, T steps with the closing one, B sets.


ALTERNATIVES = 5


@dataclass(frozen=True, slots=True)
class PointingModel:
    """A pointer network that records the weights of all points at every step of its answer."""

    card: Card
    network: PointerNetwork

    @classmethod
    def load(
        cls, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Self:
        """Load a checkpoint.

        Raises:
            InputError: if areas of more than one point are requested.
            BackendError: if a file is missing or damaged.
        """
        if area_size is not None and area_size > 1:
            raise InputError(
                "This model attends to single points, not to areas. Keep the default largest area."
            )
        network = prepare_for_inference(PointerNetwork(PointerConfig(**card.config)), device)
        load_weights(network, folder, card.files)
        return cls(card, network)

    def make_untrained(self) -> Self:
        """Return this network with initial weights, as a baseline."""
        return replace(
            self, network=build_untrained(PointerNetwork, self.network.config, self.device)
        )

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return next(self.network.parameters()).device

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Answer the requests one after the other.

        Raises:
            InputError: if the points, the given output or a change cannot be used.
        """
        return [self._trace(request) for request in requests]

    @torch.inference_mode()
    def answer(
        self, points_BN2: npt.NDArray[np.float64], beam: int, changed: NetworkInterventions
    ) -> list[Hypothesis]:
        """Return the most probable answers for sets in reading order, as indices in that order."""
        points = torch.from_numpy(points_BN2.astype(np.float32)).to(self.device)
        stepper = PointerStepper(self.network, self.network.encode(points), beam, changed)
        end = points_BN2.shape[1]
        limits = [end + 1] * len(points_BN2)
        return [found[0] for found in beam_search(stepper, end, end, limits, beam, alpha=0)]

    def _trace(self, request: Request) -> Trace:
        points_N2 = parse_points(request.text)
        self._check_request(points_N2, request)
        changed = NetworkInterventions.from_changes(request.changes, SITES, 1)
        points_1N2 = points_N2[None] / EXTENT
        order_N = order_around_mean(points_1N2)[0]
        # Changes and given outputs refer to the points in the order of the request.
        changed = _move_to_reading_order(changed, order_N)
        read_1N2 = normalise_points(points_1N2)[:, order_N]
        if request.target is None:
            beam = 1 if request.method == "greedy" else request.beam
            found = self.answer(read_1N2, beam, changed)[0].ids
            passed = [place for place in found if place < len(order_N)]
            places = [*passed, passed[0]]
        else:
            places = _parse_answer(request.target, order_N, self.network.config)
        log_TN = self._compute_log_weights(read_1N2, places, changed)
        weights_TN = log_TN.exp().cpu().numpy().astype(np.float32)[:, order_N.argsort()]
        chosen = [int(order_N[place]) for place in places]
        return self._record_trace(request, points_1N2[0], chosen, weights_TN)

    @torch.inference_mode()
    def _compute_log_weights(
        self,
        read_1N2: npt.NDArray[np.float64],
        places: Sequence[int],
        changed: NetworkInterventions,
    ) -> Tensor:
        points = torch.from_numpy(read_1N2.astype(np.float32)).to(self.device)
        answers_1T = torch.tensor([places], device=self.device)
        log_1TN: Tensor = self.network(points, answers_1T, changed)
        return log_1TN[0]

    def _record_trace(
        self,
        request: Request,
        points_N2: npt.NDArray[np.float64],
        chosen: Sequence[int],
        weights_TN: npt.NDArray[np.float32],
    ) -> Trace:
        fields = {"points": make_points_field(request.text), "target": _make_target_field(chosen)}
        grid = AreaGrid(1, len(points_N2), 1, 1)
        pointer = AttentionMap(
            SITE, "target", "points", grid, weights_TN[None, None], "softmax over points"
        )
        alternatives = []
        for weights_N in weights_TN:
            best = (-weights_N).argsort(kind="stable")[:ALTERNATIVES]
            alternatives.append(tuple((str(one + 1), float(weights_N[one])) for one in best))
        likely_T = weights_TN[np.arange(len(chosen)), chosen]
        output = Output("target", likely_T, tuple(alternatives))
        details = {"device": self.device.type, **self._compare_with_exact(points_N2, chosen[:-1])}
        if len(points_N2) > self.card.trained_length:
            details["warning"] = (
                f"More points than in any set this model was trained on"
                f" ({self.card.trained_length})."
            )
        return Trace(request, fields, output, {SITE: pointer}, details)

    def _compare_with_exact(
        self, points_N2: npt.NDArray[np.float64], chosen: Sequence[int]
    ) -> dict[str, str]:
        """Compare the answer with the exact one. Lengths and areas are in units of the points."""
        kind = self.network.config.kind
        right = [int(one) for one in solve_exactly(kind, points_N2[None])[0] if one >= 0]
        found = {"kind": kind, "answer": _format_numbers(chosen), "exact": _format_numbers(right)}
        if kind == "tour":
            found["length"] = f"{measure_tour_length(points_N2, chosen) * EXTENT:.0f}"
            found["shortest"] = f"{measure_tour_length(points_N2, right) * EXTENT:.0f}"
            return found
        own, whole = (abs(compute_signed_area(points_N2[list(one)])) for one in (chosen, right))
        found["area"], found["exact area"] = (f"{one * EXTENT**2:.0f}" for one in (own, whole))
        return found

    def _check_request(self, points_N2: npt.NDArray[np.int64], request: Request) -> None:
        """Check a request before the model runs.

        Raises:
            InputError: if the model cannot handle the request.
        """
        count = len(points_N2)
        if count > MOST:
            raise InputError(
                f"There are {count:,} points, but the limit is {MOST}. Remove {count - MOST:,}."
            )
        if count < FEWEST:
            raise InputError(
                f"There {'is 1 point' if count == 1 else f'are {count} points'}, but at least"
                f" {FEWEST} are needed. Add more."
            )
        seen: dict[tuple[int, ...], int] = {}
        for number, place in enumerate(map(tuple, points_N2.tolist()), start=1):
            if place in seen:
                raise InputError(
                    f"Points {seen[place]} and {number} are at the same place. Move or remove"
                    " one of them."
                )
            seen[place] = number
        if self.network.config.kind == "hull" and _are_on_one_line(points_N2):
            raise InputError("All points are on one line, which has no hull. Move one of them.")
        grids = {"points": AreaGrid(1, count, 1, 1)}
        lengths = {"points": count}
        if request.target is not None:
            lengths["target"] = len(request.target.split())
        Places(SITES, 1, 1, lengths, grids).check(request.changes)


def _are_on_one_line(points_N2: npt.NDArray[np.int64]) -> bool:
    """Return whether distinct points are on one line. The test is exact, in integers."""
    (ax, ay), (bx, by) = points_N2[0] - points_N2[-1], points_N2[1] - points_N2[-1]
    away_N2 = points_N2 - points_N2[-1]
    flat_N = away_N2[:, 0] * ay - away_N2[:, 1] * ax
    return bool((flat_N == 0).all()) and ax * by - ay * bx == 0


def _move_to_reading_order(
    changed: NetworkInterventions, order_N: npt.NDArray[np.int64]
) -> NetworkInterventions:
    """Translate changes from the order of the request to reading order."""
    place_of = order_N.argsort()
    moved = []
    for change in changed.changes:
        items = tuple(int(place_of[item]) for item in getattr(change, "items", ()))
        areas = []
        for area in getattr(change, "areas", ()):
            areas.append(replace(area, left=int(place_of[area.left])))
        if isinstance(change, Weigh):
            change = replace(change, items=items, areas=tuple(areas))
        moved.append(change)
    return replace(changed, changes=tuple(moved))


def _parse_answer(target: str, order_N: npt.NDArray[np.int64], config: PointerConfig) -> list[int]:
    """Parse a given answer, such as "2 5 1 2", into indices in reading order.

    Raises:
        InputError: if it is not an answer for these points.
    """
    place_of, count = order_N.argsort(), len(order_N)
    numbers = [int(part) if part.isdecimal() else 0 for part in target.split()]
    inner = numbers[:-1]
    is_answer = len(inner) >= config.count_required_points(count) and numbers[-1] == inner[0]
    if not is_answer or len(set(inner)) < len(inner) or not 1 <= min(inner) <= max(inner) <= count:
        raise InputError(
            f"The given output is not a {POINT_KINDS[config.kind]} of these points. Give each of"
            " its points once and end with the first, for example: 1 2 3 1."
        )
    return [int(place_of[number - 1]) for number in numbers]


def _make_target_field(chosen: Sequence[int]) -> Field:
    """Return the answer as a text: the numbers of the points, with the first again at the end."""
    labels = tuple(str(one + 1) for one in chosen)
    anchors, start = [], 0
    for label in labels:
        anchors.append((start, start + len(label)))
        start += len(label) + 1
    return Field("target", "text", " ".join(labels), labels, np.array(anchors, np.int64))


def _format_numbers(points: Sequence[int]) -> str:
    return " ".join(str(one + 1) for one in points)
