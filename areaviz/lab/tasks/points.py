"""Points: training of pointer networks on random point sets, and evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED
from areaviz.lab.loop import Description, TrainConfig, load_or_make_array, read_training_texts
from areaviz.lab.measure import Measured, Options
from areaviz.models.points import (
    PointBatch,
    PointerConfig,
    PointerNetwork,
    PointingModel,
    arrange_for_reading,
    make_invalid_choices_mask,
    make_point_batch,
)
from areaviz.samples.reasoning import (
    POINT_KINDS,
    VALID_SETS,
    PointSets,
    compute_signed_area,
    draw_held_out_sets,
    measure_tour_length,
    order_around_mean,
    order_tours_from_leftmost,
    solve_exactly,
)

# Training of pointer networks on random point sets with exact answers.
#
# Shapes: B sets, N points, T steps including the closing one.


@dataclass(frozen=True, slots=True, kw_only=True)
class PointersConfig(TrainConfig):
    """The recipe of a pointer network.

    Args:
        batch: Sets per update, all with the same number of points.
        sizes: Numbers of points per set. One of them is drawn for each batch, so a number that is
            listed twice is drawn twice as often.
        sets: Number of different sets of each size. They are turned and mirrored at random.
    """

    batch: int = 128
    sizes: Sequence[int] = (5, 6, 7, 8, 9, 10)
    sets: int = 50_000


@dataclass(slots=True)
class Pointers:
    """The task: point sets, by their number of points."""

    Recipe: ClassVar[type[TrainConfig]] = PointersConfig

    config: PointersConfig
    network: PointerNetwork
    sets: Mapping[int, PointSets]
    valid: Mapping[int, PointSets]
    device: torch.device

    @classmethod
    def build(cls, config: PointersConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Make the point sets and the network.

        The answers are computed once and cached in the run's folder. Nothing is read from `data`.
        """
        torch.manual_seed(config.seed)
        options = PointerConfig(**config.model)
        sizes = sorted(set(config.sizes))
        sets, valid = {}, {}
        for size in sizes:
            sets[size] = _load_or_draw_sets(folder, config, options.kind, size)
            valid[size] = draw_held_out_sets(options.kind, "val", size)
        return cls(config, PointerNetwork(options).to(device), sets, valid, device)

    def batches(self, first_step: int) -> Iterator[PointBatch]:
        """Yield batches of randomly turned and mirrored sets without end.

        All sets of a batch have an equal number of points.
        """
        step = first_step
        while True:
            rng = np.random.default_rng((self.config.seed, step))
            size = int(rng.choice(np.array(self.config.sizes)))
            whole = self.sets[size]
            chosen = rng.integers(len(whole), size=self.config.batch)
            drawn = PointSets(whole.points[chosen], whole.answers[chosen])
            yield make_point_batch(turn_and_mirror(drawn, rng), self.device)
            step += 1

    def loss(self, batch: PointBatch) -> Tensor:
        """Compute the cross-entropy per step."""
        return point_loss(self.network, batch)

    def validate(self, step: int) -> dict[str, float]:
        """Measure the mean loss, and the share of fully correct answers for the largest size."""
        losses = []
        for sets in self.valid.values():
            losses.append(float(point_loss(self.network, make_point_batch(sets, self.device))))
        batch = make_point_batch(self.valid[max(self.valid)], self.device)
        found_BT = self.network(batch.points_BN2, batch.answers_BT).argmax(2)
        right_BT = (found_BT == batch.answers_BT) | (batch.answers_BT < 0)
        sequences = float(right_BT.all(1).float().mean())
        loss = sum(losses) / len(losses)
        return {"valid_loss": loss, "valid_sequences": sequences, "score": loss}

    def save(self, folder: Path) -> None:
        """Do nothing. A pointer network needs no other files than its weights."""

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        sizes = f"{min(self.config.sizes)} to {max(self.config.sizes)}"
        kind = self.network.config.kind
        solver = "Qhull (scipy)" if kind == "hull" else "dynamic programming (Held and Karp 1962)"
        texts = read_training_texts(
            "points", sets=self.config.sets, sizes=sizes, valid=VALID_SETS, solver=solver
        )
        return Description(
            family="pointer",
            title=f"Pointer network, {POINT_KINDS[kind]}",
            task="points",
            level="point",
            mechanism="item-wise soft",
            trained_length=max(self.config.sizes),
            config=asdict(self.network.config),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={"chosen_by": "validation loss"},
        )


def point_loss(network: PointerNetwork, batch: PointBatch) -> Tensor:
    """Compute the cross-entropy of the answers per step, in nats."""
    log_BTN = network(batch.points_BN2, batch.answers_BT)
    return F.nll_loss(log_BTN.flatten(0, 1), batch.answers_BT.flatten(), ignore_index=-1)


def turn_and_mirror(sets: PointSets, rng: np.random.Generator) -> PointSets:
    """Return the sets after a random number of quarter turns, and mirrored half of the time.

    All sets are turned and mirrored alike.
    """
    points_BN2, answers_BN = sets.points, sets.answers
    for _ in range(int(rng.integers(4))):
        points_BN2 = np.stack([1 - points_BN2[..., 1], points_BN2[..., 0]], 2)
    if rng.integers(2):
        points_BN2 = points_BN2[..., ::-1]
    return PointSets(points_BN2, restart_answers(points_BN2, answers_BN))


def restart_answers(
    points_BN2: npt.NDArray[np.float64], answers_BN: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the answers of turned or mirrored points, counter-clockwise from the leftmost."""
    found_BN = np.full_like(answers_BN, -1)
    for length in np.unique((answers_BN >= 0).sum(1)):
        rows_B = np.flatnonzero((answers_BN >= 0).sum(1) == length)
        found_BN[rows_B, :length] = order_tours_from_leftmost(
            points_BN2[rows_B], answers_BN[rows_B, :length]
        )
    return found_BN


def _load_or_draw_sets(folder: Path, config: PointersConfig, kind: str, size: int) -> PointSets:
    """Return the training sets of a size, drawn with the run's seed.

    Their answers are cached in the run's folder.
    """
    points = np.random.default_rng((config.seed, size)).random((config.sets, size, 2))
    path = folder / f"answers-{kind}-{size}-{config.sets}-{config.seed}.npy"
    return PointSets(points, load_or_make_array(path, lambda: solve_exactly(kind, points)))


# Evaluation of pointer networks on point sets with exact answers, for their cards.
#
# Shapes: B sets, N points, T steps including the closing one.


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
