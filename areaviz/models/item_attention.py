"""A digit classifier with item-wise attention to a grid of features, in several steps.

The attention is soft or hard (survey Fig. 7 and Eq. 9-17). At every step, a recurrent state scores
each cell. Soft attention reads the weighted sum of all cells. Hard attention reads one cell, which
is sampled by the weights and trained with REINFORCE.

Shapes: B pictures, H, W of the picture, T steps, M = G * G cells, C channels, N hidden width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.hard import choose_item
from areaviz.models.classifier_pass import ClassifierPass, stack_looks
from areaviz.samples.digits import DIGIT_KINDS


@dataclass(frozen=True, slots=True)
class ItemsConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        hard: whether to read one cell instead of the weighted sum of all cells.
        looks: number of steps.
        channels: number of feature channels.
        width: hidden units.
        classes: number of labels.
    """

    kind: str = "cluttered"
    hard: bool = False
    looks: int = 6
    channels: int = 64
    width: int = 128
    classes: int = 10

    @property
    def grid(self) -> int:
        """The side of the grid of cells."""
        return DIGIT_KINDS[self.kind] // 4


class ItemAttentionClassifier(nn.Module):
    """Convolutions, a recurrent state, additive scores (survey Eq. 10) and a classifier."""

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

    def forward(self, pictures_BHW: Tensor, sample: bool) -> ClassifierPass:
        """Read pictures with values 0..1.

        Args:
            pictures_BHW: the pictures.
            sample: whether hard attention samples its cells. Otherwise it takes the heaviest ones.
        """
        features_BCGG = self.features(pictures_BHW[:, None])
        # Without positions, equal cells could not be distinguished.
        cells_BMC = features_BCGG.flatten(2).transpose(1, 2) + self.place
        keys_BMK = self.key(cells_BMC)
        hidden_BN = cell_BN = cells_BMC.new_zeros(len(cells_BMC), self.config.width)
        looks = []
        for _ in range(self.config.looks):
            query_B1K = self.query(hidden_BN)[:, None]
            score_BM = self.score(torch.tanh(keys_BMK + query_B1K))[:, :, 0]
            weights_BM = score_BM.softmax(1)
            # The reward that is expected before the choice. It is detached, so that its error does
            # not train the state.
            baseline_B = self.baseline(hidden_BN.detach())[:, 0]
            chosen_B, log_B = choose_item(weights_BM, sample)
            if self.config.hard:
                read_BC = _select_cells(cells_BMC, chosen_B)
            else:
                read_BC = (weights_BM[:, None] @ cells_BMC)[:, 0]
            hidden_BN, cell_BN = self.core(read_BC, (hidden_BN, cell_BN))
            logits_BD = self.classifier(hidden_BN)
            looks.append((weights_BM, chosen_B, logits_BD, log_B, baseline_B))
        weights, chosen, logits, chance, baseline = stack_looks(looks)
        if not self.config.hard:
            return ClassifierPass(logits, weights=weights)
        return ClassifierPass(
            logits, weights=weights, chosen=chosen, log_probability=chance, baseline=baseline
        )


def _select_cells(cells_BMC: Tensor, chosen_B: Tensor) -> Tensor:
    """Return one cell of each picture: [B, C]."""
    return cells_BMC[torch.arange(len(chosen_B), device=chosen_B.device), chosen_B]
