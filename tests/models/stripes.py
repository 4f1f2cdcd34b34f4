"""Pictures with a small striped square, at which a tiny network learns to look in seconds.

Only a close glimpse shows whether the stripes are horizontal or vertical. Shapes: B pictures.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.models.digits import ClassifierPass, compute_reading_loss

SIDE, BLOCK = 24, 6


@dataclass(frozen=True, slots=True)
class Places:
    """Statistics of the places where a network looked.

    Args:
        hit: How often it looked into the square.
        position: How often it looked where another picture has its square.
        spread: The standard deviation of the places over pictures, in pixels.
    """

    hit: float
    position: float
    spread: float


def scenes(count: int, chance: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Draw pictures [B, S, S], labels [B, 1] and the square's corners (row, column) [B, 2]."""
    labels_B = torch.randint(2, (count,), generator=chance)
    corners_B2 = torch.randint(SIDE - BLOCK + 1, (count, 2), generator=chance)
    across = (torch.arange(BLOCK) % 2).float()[:, None].expand(BLOCK, BLOCK)
    pictures_BSS = torch.zeros(count, SIDE, SIDE)
    for picture, label, corner in zip(pictures_BSS, labels_B, corners_B2.tolist(), strict=True):
        row, column = corner
        square = across if label else across.T
        picture[row : row + BLOCK, column : column + BLOCK] = square
    return pictures_BSS, labels_B[:, None], corners_B2


def learned(network: nn.Module, updates: int, reward: str = "answers") -> nn.Module:
    """Train the network for the given number of steps and return it."""
    optimiser = torch.optim.AdamW(network.parameters(), 3e-3, betas=(0.9, 0.98), weight_decay=0.0)
    chance = torch.Generator().manual_seed(1)
    for _ in range(updates):
        pictures_BSS, labels_B1, _ = scenes(64, chance)
        loss = compute_reading_loss(network(pictures_BSS, sample=True), labels_B1, 0.1, reward)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
    return network


@torch.no_grad()
def point_apart(locator: nn.Linear, network: nn.Module, pictures_2SS: Tensor) -> None:
    """Make a locator look at the middle of one picture, and to the right in the other.

    The locator then distinguishes the network's state for both pictures at its first use.
    """
    known: list[Tensor] = []
    hook = locator.register_forward_pre_hook(lambda _, inputs: known.append(inputs[0]))
    network(pictures_2SS, sample=False)
    hook.remove()
    one_N, other_N = known[0]
    apart_N = other_N - one_N
    locator.weight.zero_()
    locator.weight[0] = apart_N / apart_N.square().sum()
    locator.bias.copy_(-(locator.weight @ one_N))


@torch.no_grad()
def looked_at(network: nn.Module, look: int) -> Places:
    """Return where a network's glimpse (counted from 0) is in new pictures, without sampling."""
    pictures_BSS, _, corners_B2 = scenes(300, torch.Generator().manual_seed(9))
    reading: ClassifierPass = network(pictures_BSS, sample=False)
    assert reading.corners is not None
    middles_B2 = reading.corners[:, look, 0].mean(1)

    def share(corners_B2: Tensor) -> float:
        within_B2 = middles_B2 - corners_B2.flip(1)
        return float(((within_B2 >= 0) & (within_B2 < BLOCK)).all(1).float().mean())

    spread = float(middles_B2.std(0).mean())
    return Places(share(corners_B2), share(corners_B2.roll(1, 0)), spread)
