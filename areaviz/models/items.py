"""A digit reader that looks at a grid of features again and again: item-wise attention, soft or
hard.

Survey Fig. 7 and Eq. 9-17: at every step a recurrent state scores each cell; soft attention reads
the weighted sum of all cells, hard attention reads one cell, drawn by the weights and learned by
REINFORCE.
Shapes: B pictures, H, W of the picture, T looks, M = G * G cells, C channels, N hidden width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.hard import choose_item
from areaviz.data.digit_scenes import KINDS
from areaviz.models.reading import Reading, side_by_side


@dataclass(frozen=True, slots=True)
class ItemsConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        hard: whether one cell is read, not all by their weights.
        looks: how many.
        channels: of the features.
        width: hidden units.
        classes: labels.
    """

    kind: str = "cluttered"
    hard: bool = False
    looks: int = 6
    channels: int = 64
    width: int = 128
    classes: int = 10

    @property
    def grid(self) -> int:
        """Side of the grid of cells."""
        return KINDS[self.kind] // 4


class Items(nn.Module):
    """Convolutions, a recurrent state, additive scores of the cells (survey Eq. 10), a
    classifier.
    """

    def __init__(self, config: ItemsConfig) -> None:
        super().__init__()
        self.config = config
        channels, width = config.channels, config.width
        self.features = nn.Sequential(
            nn.Conv2d(1, channels // 4, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(channels // 4, channels // 2, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(channels // 2, channels, 3, 1, 1),
            nn.ReLU(),
        )
        self.place = nn.Parameter(torch.randn(config.grid**2, channels) * 0.1)
        self.key, self.query = nn.Linear(channels, 48), nn.Linear(width, 48)
        self.score = nn.Linear(48, 1)
        self.core = nn.LSTMCell(channels, width)
        self.baseline = nn.Linear(width, 1)
        self.classifier = nn.Linear(width, config.classes)

    def forward(self, pictures_BHW: Tensor, sample: bool) -> Reading:
        """Look at pictures (0..1). Hard attention draws its cells with `sample`, else it takes the
        heaviest.
        """
        features_BCGG = self.features(pictures_BHW[:, None])
        # Without their places, equal cells could not be told apart.
        cells_BMC = features_BCGG.flatten(2).transpose(1, 2) + self.place
        keys_BMK = self.key(cells_BMC)
        hidden_BN = cell_BN = cells_BMC.new_zeros(len(cells_BMC), self.config.width)
        looks = []
        for _ in range(self.config.looks):
            query_B1K = self.query(hidden_BN)[:, None]
            score_BM = self.score(torch.tanh(keys_BMK + query_B1K))[:, :, 0]
            weights_BM = score_BM.softmax(1)
            # What is expected before the choice; it must not change what is expected of.
            baseline_B = self.baseline(hidden_BN.detach())[:, 0]
            chosen_B, log_B = choose_item(weights_BM, sample)
            if self.config.hard:
                read_BC = _rows(cells_BMC, chosen_B)
            else:
                read_BC = (weights_BM[:, None] @ cells_BMC)[:, 0]
            hidden_BN, cell_BN = self.core(read_BC, (hidden_BN, cell_BN))
            logits_BD = self.classifier(hidden_BN)
            looks.append((weights_BM, chosen_B, logits_BD, log_B, baseline_B))
        weights, chosen, logits, chance, baseline = side_by_side(looks)
        if not self.config.hard:
            return Reading(logits, weights=weights)
        return Reading(
            logits, weights=weights, chosen=chosen, log_probability=chance, baseline=baseline
        )


def _rows(cells_BMC: Tensor, chosen_B: Tensor) -> Tensor:
    """One cell of each picture: [B, C]."""
    return cells_BMC[torch.arange(len(chosen_B), device=chosen_B.device), chosen_B]
