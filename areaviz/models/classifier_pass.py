"""The result of a digit classifier for a batch, and its training loss.

Shapes: B pictures, T looks, K scales, S side of a patch, M cells, D digits to be read, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.hard import compute_reinforce_loss


@dataclass(frozen=True, slots=True)
class ClassifierPass:
    """The result for a batch of pictures, with values for every look.

    Attention to locations sets `corners` and `seen`, attention to items sets `weights`. Random
    choices set `log_probability` and `baseline`.

    Args:
        logits: [B, T, C], the prediction after each look.
        digits: number of digits that are read one after the other, with T / digits looks each. The
            logits after a digit's last look are its answer.
        corners: [B, T, K, 4, 2], of the patch at each scale, (x, y) in pixels, clockwise from the
            corner that becomes the top left one.
        seen: [B, T, K, S, S], the patches, 0..1.
        weights: [B, T, M], weights of the cells.
        chosen: int64 [B, T], the cell read by hard attention.
        log_probability: [B, T], of each choice.
        baseline: [B, T], the reward expected before each choice.
        aims: [B, D, A, 2], the mean locations of the looks at each digit that location supervision
            can train, (x, y) in -1..1: the first look, or those that `Ram` chooses.
        coarse: [B, G, G], the coarse view of the whole picture before the first look, 0..1.
    """

    logits: Tensor
    digits: int = 1
    corners: Tensor | None = None
    seen: Tensor | None = None
    weights: Tensor | None = None
    chosen: Tensor | None = None
    log_probability: Tensor | None = None
    baseline: Tensor | None = None
    aims: Tensor | None = None
    coarse: Tensor | None = None

    @property
    def answers(self) -> Tensor:
        """The logits of every digit's answer: [B, D, C]."""
        each = self.logits.shape[1] // self.digits
        return self.logits[:, each - 1 :: each]


REWARDS = ("answers", "looks")


def compute_reading_loss(
    reading: ClassifierPass, labels_BD: Tensor, early: float, reward: str = "answers"
) -> Tensor:
    """Compute the training loss of a reading.

    It is the cross-entropy of the answers. If looks were sampled, the REINFORCE loss and the error
    of the baseline are added.

    Args:
        reading: the reading of a batch.
        labels_BD: the correct digits.
        early: weight of the cross-entropy after every look, which makes early predictions
            meaningful.
        reward: the reward of a look, counted from that look on. "answers" counts correct digits.
            "looks" counts the share of a digit's looks after which the prediction is correct. This
            rewards a good first look, even if later looks alone would lead to the correct digit.
    """
    answers_BDC, each = reading.answers, reading.logits.shape[1] // reading.digits
    loss = F.cross_entropy(answers_BDC.flatten(0, 1), labels_BD.flatten())
    if each > 1:
        labels_BT = labels_BD.repeat_interleave(each, 1)
        loss = loss + early * F.cross_entropy(reading.logits.flatten(0, 1), labels_BT.flatten())
    if reading.log_probability is None or reading.baseline is None:
        return loss
    # A look cannot change earlier answers, so only later answers reward it.
    if reward == "looks":
        labels_BT = labels_BD.repeat_interleave(each, 1)
        right_BT = (reading.logits.argmax(2) == labels_BT).float() / each
        to_go_BT = right_BT.flip(1).cumsum(1).flip(1)
    else:
        right_BD = (answers_BDC.argmax(2) == labels_BD).float()
        to_go_BT = right_BD.flip(1).cumsum(1).flip(1).repeat_interleave(each, 1)
    return loss + compute_reinforce_loss(reading.log_probability, to_go_BT, reading.baseline)


# One glimpse: its boxes [B, K, 4], the patches, the logits after it, and the log-probability and
# the expected reward of its place.
Glimpse = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def combine_glimpses(
    glimpses: Sequence[Glimpse], digits: int, coarse: Tensor | None = None
) -> ClassifierPass:
    """Build the reading of a network from its sequence of glimpses."""
    boxes, seen, logits, chance, baseline = stack_looks(glimpses)
    return ClassifierPass(
        logits,
        digits,
        convert_boxes_to_corners(boxes.float()),
        seen,
        log_probability=chance,
        baseline=baseline,
        coarse=coarse,
    )


def stack_looks(looks: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """Stack the parts of all looks, [B, ...] each, along a new axis: [B, T, ...]."""
    return [torch.stack(part, 1) for part in zip(*looks, strict=True)]


def convert_boxes_to_corners(boxes: Tensor) -> Tensor:
    """Convert boxes [..., 4] (left, top, right, bottom) to corners [..., 4, 2], clockwise."""
    left, top, right, bottom = boxes.unbind(-1)
    x = torch.stack([left, right, right, left], -1)
    y = torch.stack([top, top, bottom, bottom], -1)
    return torch.stack([x, y], -1)


def add_coordinates(pictures_BHW: Tensor) -> Tensor:
    """Add the place of every pixel, (x, y) in -1..1, as two channels: [B, 3, H, W]."""
    height, width = pictures_BHW.shape[1:]
    y_H = torch.linspace(-1, 1, height, device=pictures_BHW.device)
    x_W = torch.linspace(-1, 1, width, device=pictures_BHW.device)
    x_BHW = x_W.expand_as(pictures_BHW)
    y_BHW = y_H[:, None].expand_as(pictures_BHW)
    return torch.stack([pictures_BHW, x_BHW, y_BHW], 1)
