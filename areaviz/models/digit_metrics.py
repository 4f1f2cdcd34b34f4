"""Metrics of digit classifiers: their errors, and the places of their glimpses.

Shapes: B pictures, T looks, K scales, M cells, D digits, C classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.measures.pointing import (
    Floats,
    IntArray,
    compute_box_overlap,
    compute_covered_share,
    find_hits,
)
from areaviz.models.classifier_pass import ClassifierPass
from areaviz.samples.digits import DigitScenes, Images

BATCH, SEED = 500, 0


def to_unit_range(pictures: Images, device: torch.device) -> Tensor:
    """Convert bytes to 0..1."""
    return torch.from_numpy(pictures).to(device).float() / 255


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """The places at which a network looked in a batch of pictures."""

    # (x, y) in pixels [B, T, 2]. For soft attention, the middles of the heaviest cells.
    middles: Floats
    # Corners of the finest patches [B, T, 4, 2]. None for attention to cells.
    corners: Floats | None

    def shift(self, shift_BT2: Floats) -> Looks:
        """Return these looks, each moved by (x, y) pixels."""
        corners = None if self.corners is None else self.corners + shift_BT2[:, :, None]
        return Looks(self.middles + shift_BT2, corners)


def measure_reading(
    network: nn.Module, scenes: DigitScenes, device: torch.device
) -> dict[str, float]:
    """Measure a digit reader, greedily and in a single pass.

    Returns:
        "loss" in nats per digit, "error", the share of pictures with at least one wrong digit, and
        the metrics of `measure_looks`.
    """
    return _average_over_batches(scenes, lambda part: _measure_batch(network, scenes, part, device))


def measure_baselines(
    network: nn.Module, scenes: DigitScenes, device: torch.device
) -> dict[str, float]:
    """Compute `measure_looks` for looks that ignore the picture, as baselines.

    Returns:
        NAME_uniform moves the looks to uniformly random places without changing their shapes.
        NAME_position uses the looks at a different picture, which is the result of a network that
        always looks where digits often are.
    """
    return _average_over_batches(
        scenes, lambda part: _measure_batch_baselines(network, scenes, part, device)
    )


def measure_looks(looks: Looks, boxes_BD4: IntArray, side: int) -> dict[str, Floats]:
    """Measure how well looks cover the digits.

    Returns:
        Values [B] or [B, T]. hit: whether the middle of a look is in a digit's box. first_hit: hit
        of the first look. coverage: the share of the digits' boxes that the finest patches cover.
        overlap: if every digit has one look, the IoU of its quadrilateral and the digit's box.
    """
    inside = find_hits(looks.middles, boxes_BD4).astype(np.float32)
    figures: dict[str, Floats] = {"hit": inside, "first_hit": inside[:, 0]}
    if looks.corners is None:
        return figures
    if looks.corners.shape[1] == boxes_BD4.shape[1]:
        overlaps = []
        for digit in range(boxes_BD4.shape[1]):
            overlaps.append(compute_box_overlap(looks.corners[:, digit], boxes_BD4[:, digit], side))
        return figures | {"overlap": np.mean(overlaps, 0)}
    read = np.concatenate([looks.corners[:, :, 0], looks.corners[:, :, 2]], 2).astype(np.int64)
    return figures | {"coverage": compute_covered_share(read, boxes_BD4, side)}


def find_looks(reading: ClassifierPass, side: int) -> Looks | None:
    """Return the places of a reading's looks, or None if the reader has no attention."""
    if reading.corners is not None:
        corners: Floats = reading.corners[:, :, 0].cpu().numpy()
        return Looks(corners.mean(2), corners)
    if reading.weights is None:
        return None
    chosen_BT = reading.weights.argmax(2) if reading.chosen is None else reading.chosen
    grid = isqrt(reading.weights.shape[2])
    row_BT, column_BT = np.divmod(chosen_BT.cpu().numpy(), grid)
    middles_BT2 = np.stack([column_BT + 0.5, row_BT + 0.5], 2) * (side / grid)
    return Looks(middles_BT2, None)


def _average_over_batches(
    scenes: DigitScenes, figures: Callable[[slice], dict[str, Floats]]
) -> dict[str, float]:
    found: dict[str, list[Floats]] = {}
    for first in range(0, len(scenes.pictures), BATCH):
        for name, values in figures(slice(first, first + BATCH)).items():
            found.setdefault(name, []).append(values)
    return {name: float(np.mean(np.concatenate(parts))) for name, parts in found.items()}


def _measure_batch(
    network: nn.Module, scenes: DigitScenes, part: slice, device: torch.device
) -> dict[str, Floats]:
    labels_BD = torch.from_numpy(scenes.labels[part]).to(device)
    reading = _run_network(network, scenes, part, device)
    loss = F.cross_entropy(reading.answers.flatten(0, 1), labels_BD.flatten(), reduction="none")
    wrong = (reading.answers.argmax(2) != labels_BD).any(1)
    side = scenes.pictures.shape[1]
    looks = find_looks(reading, side)
    found = {} if looks is None else measure_looks(looks, scenes.boxes[part], side)
    return {"loss": loss.cpu().numpy(), "error": wrong.cpu().numpy(), **found}


def _measure_batch_baselines(
    network: nn.Module, scenes: DigitScenes, part: slice, device: torch.device
) -> dict[str, Floats]:
    boxes, side = scenes.boxes[part], scenes.pictures.shape[1]
    looks = find_looks(_run_network(network, scenes, part, device), side)
    if looks is None:
        return {}
    anywhere = np.random.default_rng((SEED, part.start)).uniform(0, side, looks.middles.shape)
    uniform = measure_looks(looks.shift(anywhere - looks.middles), boxes, side)
    # The looks at one picture are compared with the digits of the next one.
    position = measure_looks(looks, np.roll(boxes, 1, 0), side)
    found = {f"{name}_uniform": values for name, values in uniform.items()}
    return found | {f"{name}_position": values for name, values in position.items()}


@torch.no_grad()
def _run_network(
    network: nn.Module, scenes: DigitScenes, part: slice, device: torch.device
) -> ClassifierPass:
    reading: ClassifierPass = network(to_unit_range(scenes.pictures[part], device), sample=False)
    return reading
