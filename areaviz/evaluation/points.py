"""Evaluation of pointer networks on point sets with exact answers, for their cards.

Shapes: B sets, N points, T steps including the closing one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from areaviz.attention.interventions import UNCHANGED
from areaviz.evaluation.measure import Measured, Options
from areaviz.models.points import (
    PointBatch,
    PointerNetwork,
    PointingModel,
    arrange_for_reading,
    make_invalid_choices_mask,
    make_point_batch,
)
from areaviz.samples.reasoning import (
    PointSets,
    compute_signed_area,
    draw_held_out_sets,
    measure_tour_length,
    order_around_mean,
)

SIZES = (5, 6, 7, 8, 9, 10)
AT_ONCE = 500
"""Number of sets that are answered together."""


def evaluate_points(model: PointingModel, data: Path, split: str, options: Options) -> Measured:
    """Measure a pointer network on "val" or "test". `data` is not used.

    Its own answers are compared with the exact ones. Its attention is measured while it is given
    the exact answers.
    """
    kind = model.network.config.kind
    figures: dict[str, float] = {}
    for size in SIZES:
        sets = draw_held_out_sets(kind, split, size)
        answers = own_answers(model, sets, options.beam)
        measured = compare_answers(kind, sets, answers)
        figures |= {f"{name}_{size}": value for name, value in measured.items()}
        if size == SIZES[-1]:
            figures |= {**measured, "sets": len(sets)}
    attention = measure_attention(
        model, draw_held_out_sets(kind, "val", size), draw_held_out_sets(kind, split, size)
    )
    return Measured(figures, {f"pointer, {split}": attention})


def own_answers(model: PointingModel, sets: PointSets, beam: int) -> list[list[int]]:
    """Return the model's answers as the point numbers of each set."""
    read = PointSets(*arrange_for_reading(sets))
    order_BN = order_around_mean(sets.points)
    answers: list[list[int]] = []
    for first in range(0, len(sets), AT_ONCE):
        found = model.answer(read.points[first : first + AT_ONCE], beam, UNCHANGED)
        for order_N, one in zip(order_BN[first:], found, strict=False):
            answers.append([int(order_N[place]) for place in one.ids if place < len(order_N)])
    return answers


def compare_answers(kind: str, sets: PointSets, answers: list[list[int]]) -> dict[str, float]:
    """Compare answers with the exact ones.

    Returns:
        right: Share of answers that are fully correct. ratio: Length of all tours divided by that
            of the shortest ones. A tour that misses a point is infinitely long. area: Area of all
            hulls divided by that of the exact ones.
    """
    right, own, best = 0, 0.0, 0.0
    for points_N2, exact_N, answer in zip(sets.points, sets.answers, answers, strict=True):
        wanted = [int(one) for one in exact_N if one >= 0]
        right += answer == wanted
        if kind == "tour":
            is_whole = sorted(answer) == list(range(len(points_N2)))
            own += measure_tour_length(points_N2, answer) if is_whole else np.inf
            best += measure_tour_length(points_N2, wanted)
        else:
            own += abs(compute_signed_area(points_N2[answer]))
            best += abs(compute_signed_area(points_N2[wanted]))
    name = "ratio" if kind == "tour" else "area"
    return {"right": right / len(sets), name: own / best}


def measure_attention(model: PointingModel, known: PointSets, sets: PointSets) -> dict[str, float]:
    """Return how often the heaviest point is right, at steps where several points can follow.

    "hit" is compared with three baselines: a random point of those that can follow, the point
    number that is most often right at this step over `known`, and the untrained network. "change
    with the set" is the distance of a step's weights from those of the same step in another set. It
    is 0 for equal weights and 1 for weights that share no point.
    """
    batch = make_point_batch(sets, model.device)
    free_BT, share_BT = _find_free_steps(model.network, batch)
    hit_BT, weights_BTN = _find_hits(model.network, batch)
    before_BT, _ = _find_hits(model.make_untrained().network, batch)
    position_T = _find_commonest_places(make_point_batch(known, model.device))
    position_BT = batch.answers_BT == position_T
    apart_BT = (weights_BTN - weights_BTN.roll(1, 0)).abs().sum(2) / 2
    both_BT = free_BT & free_BT.roll(1, 0)
    return {
        "hit": _average_where(hit_BT, free_BT),
        "hit_uniform": _average_where(share_BT, free_BT),
        "hit_position": _average_where(position_BT, free_BT),
        "hit_untrained": _average_where(before_BT, free_BT),
        "change with the set": _average_where(apart_BT, both_BT),
    }


@torch.inference_mode()
def _find_hits(network: PointerNetwork, batch: PointBatch) -> tuple[Tensor, Tensor]:
    """Return whether the heaviest point is right [B, T], and all weights [B, T, N].

    The network reads the exact answers instead of its own.
    """
    log_BTN = network(batch.points_BN2, batch.answers_BT)
    return log_BTN.argmax(2) == batch.answers_BT, log_BTN.exp()


def _find_free_steps(network: PointerNetwork, batch: PointBatch) -> tuple[Tensor, Tensor]:
    """Return the steps at which several points can follow, and 1 over their number: [B, T] each."""
    points = batch.points_BN2.shape[1]
    banned_BTN = make_invalid_choices_mask(batch.answers_BT.clamp_min(0), points, network.config)
    open_BT = (~banned_BTN).sum(2)
    return (open_BT > 1) & (batch.answers_BT >= 0), 1 / open_BT.clamp_min(1)


def _find_commonest_places(batch: PointBatch) -> Tensor:
    """Return the point number that is most often right at every step: int64 [T]."""
    found = []
    for answers_B in batch.answers_BT.unbind(1):
        given_B = answers_B[answers_B >= 0]
        found.append(given_B.bincount().argmax() if len(given_B) else given_B.new_zeros(()))
    return torch.stack(found)


def _average_where(values_BT: Tensor, where_BT: Tensor) -> float:
    return float(values_BT[where_BT].float().mean())
