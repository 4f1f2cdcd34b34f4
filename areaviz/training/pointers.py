"""Training of pointer networks on random point sets with exact answers.

Shapes: B sets, N points, T steps including the closing one.
"""

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

from areaviz.models.points import PointBatch, PointerConfig, PointerNetwork, make_point_batch
from areaviz.samples.reasoning import (
    POINT_KINDS,
    VALID_SETS,
    PointSets,
    draw_held_out_sets,
    order_tours_from_leftmost,
    solve_exactly,
)
from areaviz.training.about import read_training_texts
from areaviz.training.config import TrainConfig
from areaviz.training.task import Description, load_or_make_array


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
