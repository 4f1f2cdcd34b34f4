"""What every model that reads digits gives back, and how it learns.

Shapes: B pictures, T looks, K scales, S side of a patch, M cells, D digits to be read, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.hard import reinforce


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a batch of pictures, look by look.

    Attention to locations has `corners` and `seen`, attention to items has `weights`, and
    everything that was drawn by chance has `log_probability` and `baseline`.

    Args:
        logits: [B, T, C], of the label as known after each look.
        digits: how many are read one after the other, T / digits looks each; the logits behind a
            digit's last look are its answer.
        corners: [B, T, K, 4, 2], of what was read at each scale, (x, y) in pixels, clockwise from
            what became the top left.
        seen: [B, T, K, S, S], what was read there, 0..1.
        weights: [B, T, M], of the cells.
        chosen: int64 [B, T], the cell read by hard attention.
        log_probability: [B, T], of each choice.
        baseline: [B, T], the reward expected before each choice.
        aims: [B, D, A, 2], where looks at each digit that can be told where it is would go without
            chance, (x, y) in -1..1: the first one, or those that `Ram` chooses.
        coarse: [B, G, G], the whole picture as a model saw it before its first look, 0..1.
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


def reading_loss(
    reading: Reading, labels_BD: Tensor, early: float, reward: str = "answers"
) -> Tensor:
    """Cross-entropy of the answers; where looks were drawn, REINFORCE and the baseline's error.

    Args:
        reading: of a batch.
        labels_BD: the right digits.
        early: weighs the cross-entropy after every look, so that an answer before the last one
            means something.
        reward: of a look, what is read rightly from then on: "answers", the digits, or "looks", the
            share of a digit's looks after which it is known. The second rewards a first look for
            what it shows, and not only for what looks after it could still mend.
    """
    answers_BDC, each = reading.answers, reading.logits.shape[1] // reading.digits
    loss = F.cross_entropy(answers_BDC.flatten(0, 1), labels_BD.flatten())
    if each > 1:
        labels_BT = labels_BD.repeat_interleave(each, 1)
        loss = loss + early * F.cross_entropy(reading.logits.flatten(0, 1), labels_BT.flatten())
    if reading.log_probability is None or reading.baseline is None:
        return loss
    # A look cannot change what was read before it, so it is rewarded for what is still to come.
    if reward == "looks":
        labels_BT = labels_BD.repeat_interleave(each, 1)
        right_BT = (reading.logits.argmax(2) == labels_BT).float() / each
        to_go_BT = right_BT.flip(1).cumsum(1).flip(1)
    else:
        right_BD = (answers_BDC.argmax(2) == labels_BD).float()
        to_go_BT = right_BD.flip(1).cumsum(1).flip(1).repeat_interleave(each, 1)
    return loss + reinforce(reading.log_probability, to_go_BT, reading.baseline)


# Of one look of glimpses: its boxes [B, K, 4] and what was seen there, the logits it led to, and
# the log-probability and the expected reward of its place.
Glimpse = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def glimpsed(glimpses: Sequence[Glimpse], digits: int, coarse: Tensor | None = None) -> Reading:
    """The reading of a network that took glimpses one after the other."""
    boxes, seen, logits, chance, baseline = side_by_side(glimpses)
    return Reading(
        logits,
        digits,
        box_corners(boxes.float()),
        seen,
        log_probability=chance,
        baseline=baseline,
        coarse=coarse,
    )


def side_by_side(looks: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """What every look gave, [B, ...] each, along a new axis of looks: [B, T, ...]."""
    return [torch.stack(part, 1) for part in zip(*looks, strict=True)]


def box_corners(boxes: Tensor) -> Tensor:
    """Boxes [..., 4] (left, top, right, bottom) as corners [..., 4, 2], clockwise."""
    left, top, right, bottom = boxes.unbind(-1)
    x = torch.stack([left, right, right, left], -1)
    y = torch.stack([top, top, bottom, bottom], -1)
    return torch.stack([x, y], -1)


def coordinates(pictures_BHW: Tensor) -> Tensor:
    """The place of every pixel, (x, y) in -1..1, as two further channels: [B, 3, H, W]."""
    height, width = pictures_BHW.shape[1:]
    y_H = torch.linspace(-1, 1, height, device=pictures_BHW.device)
    x_W = torch.linspace(-1, 1, width, device=pictures_BHW.device)
    x_BHW = x_W.expand_as(pictures_BHW)
    y_BHW = y_H[:, None].expand_as(pictures_BHW)
    return torch.stack([pictures_BHW, x_BHW, y_BHW], 1)
