"""How well a network reads digits, and how well it looks at them.

Shapes: B pictures, T looks, K scales, M cells, D digits, C classes.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.data.digit_scenes import DigitScenes
from areaviz.data.mnist import Images
from areaviz.metrics.places import FloatArray, box_overlap, covered, hits
from areaviz.models.reading import Reading

BATCH = 500


def pixels(pictures: Images, device: torch.device) -> Tensor:
    """Bytes as 0..1."""
    return torch.from_numpy(pictures).to(device).float() / 255


@torch.no_grad()
def reading_figures(network: nn.Module, scenes: DigitScenes, device: torch.device) -> dict[str, float]:
    """Measures of a digit reader, greedily and in a single pass.

    loss: nats a digit. error: share of pictures with any digit wrong. hit: share of the looks whose middle (of
    soft attention: whose heaviest cell) lies in a digit's box; first_hit: of the first looks. coverage: the share
    of the digits' boxes that the finest patches read. overlap: of a single look's quadrilateral and the box, IoU.
    """
    starts = range(0, len(scenes.pictures), BATCH)
    parts = [_figures(network, scenes, slice(first, first + BATCH), device) for first in starts]
    return {name: float(np.mean(np.concatenate([part[name] for part in parts]))) for name in parts[0]}


def _figures(network: nn.Module, scenes: DigitScenes, part: slice, device: torch.device) -> dict[str, FloatArray]:
    labels_BD = torch.from_numpy(scenes.labels[part]).to(device)
    boxes, side = scenes.boxes[part], scenes.pictures.shape[1]
    reading = network(pixels(scenes.pictures[part], device), sample=False)
    loss = F.cross_entropy(reading.answers.flatten(0, 1), labels_BD.flatten(), reduction="none")
    wrong = (reading.answers.argmax(2) != labels_BD).any(1)
    figures = {"loss": loss.cpu().numpy(), "error": wrong.cpu().numpy()}
    places = looked_at(reading, side)
    if places is not None:
        inside = hits(places, boxes)
        figures |= {"hit": inside, "first_hit": inside[:, 0]}
    if reading.corners is not None:
        finest = reading.corners[:, :, 0].cpu().numpy()
        if finest.shape[1] > 1:
            read = np.concatenate([finest[:, :, 0], finest[:, :, 2]], 2).astype(np.int64)
            figures |= {"coverage": covered(read, boxes, side)}
        else:
            figures |= {"overlap": box_overlap(finest[:, 0], boxes[:, 0], side)}
    return figures


def looked_at(reading: Reading, side: int) -> FloatArray | None:
    """The middle of every look, (x, y) in pixels [B, T, 2]; None for a reader that attends to nothing."""
    if reading.corners is not None:
        middle: FloatArray = reading.corners[:, :, 0].mean(2).cpu().numpy()
        return middle
    if reading.weights is None:
        return None
    cells = reading.weights.argmax(2) if reading.chosen is None else reading.chosen
    grid = isqrt(reading.weights.shape[2])
    return np.stack([cells.cpu().numpy() % grid + 0.5, cells.cpu().numpy() // grid + 0.5], 2) * (side / grid)
