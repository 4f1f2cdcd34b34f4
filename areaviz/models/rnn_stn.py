"""A spatial transformer that reads several digits, one look each (Sønderby et al. 2015, RNN-SPN).

Before every look, a recurrent core decides where to look next. Its input is always the features of
the whole picture. A look has a fixed size, as in Jaderberg et al. (2015, section 4.3). If
the network learns the size too, looks grow until they show half the picture.

Shapes: B batch, H, W of the picture, D digits, one look each, F features, N hidden width, S side of
a look.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.hard import find_corners_px, sample_quadrilateral
from areaviz.models.classifier_pass import ClassifierPass, add_coordinates, stack_looks
from areaviz.models.context_network import build_convolutions, make_coarse_view
from areaviz.models.stn import build_convolutional_reader


@dataclass(frozen=True, slots=True)
class RnnStnConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        digits: number of digits to read, with one look each.
        side: side of a look's output, in pixels.
        extent: size of a look, as a fraction of the picture's sides.
        coarse: side in pixels of the coarse view that determines where to look.
        width: channels of the reader's convolutions.
        hidden: units of the recurrent core.
        classes: number of labels.
    """

    kind: str = "pairs"
    digits: int = 2
    side: int = 28
    extent: float = 0.32
    coarse: int = 25
    width: int = 24
    hidden: int = 128
    classes: int = 10


class RnnStn(nn.Module):
    """Features of a coarse view, a recurrent core, a locator and a reader."""

    def __init__(self, config: RnnStnConfig) -> None:
        super().__init__()
        self.config = config
        self.localiser = build_convolutions(3, config.coarse, config.hidden)
        self.core = nn.GRUCell(config.hidden, config.hidden)
        self.place = nn.Linear(config.hidden, 2)
        self.reader = build_convolutional_reader(config.width, config.classes, cells=3)

    def forward(self, pictures_BHW: Tensor, sample: bool = False) -> ClassifierPass:
        """Read pictures with values 0..1, with one look per digit. `sample` has no effect."""
        coarse_BGG = make_coarse_view(pictures_BHW, self.config.coarse)
        found_BF = self.localiser(add_coordinates(coarse_BGG))
        hidden_BN = pictures_BHW.new_zeros(len(pictures_BHW), self.config.hidden)
        size_22 = self.config.extent * torch.eye(2, device=pictures_BHW.device)
        looks = []
        for _ in range(self.config.digits):
            hidden_BN = self.core(found_BF, hidden_BN)
            aim_B2 = self.place(hidden_BN)
            theta_B23 = torch.cat([size_22.expand(len(aim_B2), 2, 2), aim_B2[:, :, None]], 2)
            seen_B1SS = sample_quadrilateral(pictures_BHW[:, None], theta_B23, self.config.side)
            corners_B42 = find_corners_px(theta_B23, *pictures_BHW.shape[1:])
            looks.append((self.reader(seen_B1SS), corners_B42[:, None], seen_B1SS, aim_B2))
        logits, corners, seen, aims = stack_looks(looks)
        return ClassifierPass(logits, self.config.digits, corners, seen, aims=aims[:, :, None])
