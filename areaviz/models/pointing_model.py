"""A pointer network as a model, which reads points and returns its answer in a Trace.

Shapes: N points, T steps with the closing one, B sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.attention.interventions import NetworkInterventions
from areaviz.cards.card import Card
from areaviz.decoding.beam import beam_search
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.base import OnStep
from areaviz.models.checkpoint import load_weights
from areaviz.models.device import build_untrained, prepare_for_inference
from areaviz.models.pointer import SITE, SITES, PointerConfig, PointerNetwork, PointerStepper
from areaviz.samples.reasoning import (
    FEWEST,
    MOST,
    POINT_KINDS,
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
