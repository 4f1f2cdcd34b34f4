"""Hard attention: one choice is sampled, and learned by REINFORCE (Williams 1992; survey Eq. 15-17
and 43-50).

Shapes: B batch, M items of a memory, T choices.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def sample_place(mean_B2: Tensor, std: float, sample: bool) -> tuple[Tensor, Tensor]:
    """A place near its mean: the places [B, 2], inside -1..1, and their log-probability [B].

    The draw is Gaussian with `std`; its log-probability is that of the draw before it was cut to
    the picture, and knows nothing of the gradient of the draw. Without `sample` the mean itself is
    taken.
    """
    place = mean_B2 + std * torch.randn_like(mean_B2) if sample else mean_B2
    distance = ((place.detach() - mean_B2) / std) ** 2
    log_probability = -(distance / 2 + math.log(std * math.sqrt(2 * math.pi))).sum(1)
    return place.detach().clamp(-1, 1), log_probability


def choose_item(weights_BM: Tensor, sample: bool) -> tuple[Tensor, Tensor]:
    """One item of each memory, drawn by its weight or the heaviest: int64 [B], and its
    log-probability [B].
    """
    chosen_B = torch.multinomial(weights_BM.detach(), 1)[:, 0] if sample else weights_BM.argmax(1)
    return chosen_B, weights_BM.gather(1, chosen_B[:, None])[:, 0].clamp_min(1e-9).log()


def reinforce(log_probability_BT: Tensor, reward_BT: Tensor, baseline_BT: Tensor) -> Tensor:
    """The surrogate whose gradient is the estimate of REINFORCE, plus the baseline's squared error.

    -sum_t log p_t (R_t - b_t), averaged over the batch (survey Eq. 50): the sum over choices comes
    first. The advantage R - b is a number here, so the choices teach the baseline nothing and the
    other way round.
    """
    advantage = (reward_BT - baseline_BT).detach()
    surrogate = -(log_probability_BT * advantage).sum(1).mean()
    return surrogate + F.mse_loss(baseline_BT, reward_BT)
