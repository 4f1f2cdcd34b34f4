"""A spatial transformer that reads several digits, one look each (Sønderby et al. 2015, RNN-SPN).

A recurrent core gets the same features of the whole picture before every look and says what to cut
out next, so that one digit is read after the other.
Shapes: B batch, H, W of the picture, T looks, F features, N hidden width, S side of what is read.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from areaviz.attention.stn import quadrilateral, transform
from areaviz.models.reading import Reading, coordinates, side_by_side
from areaviz.models.stn import convolutional_reader, first_identity

_CHANNELS, _CELLS = 32, 6
_FEATURES = _CHANNELS * _CELLS**2


@dataclass(frozen=True, slots=True)
class RnnStnConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        digits: how many are read, a look each.
        side: of what a look reads, in pixels.
        width: channels of the reader's convolutions.
        hidden: units of the recurrent core.
        classes: labels.
    """

    kind: str = "pairs"
    digits: int = 2
    side: int = 28
    width: int = 24
    hidden: int = 128
    classes: int = 10


class RnnStn(nn.Module):
    """Features of the whole, recurrent core, place (begins as the identity), reader."""

    def __init__(self, config: RnnStnConfig) -> None:
        super().__init__()
        self.config = config
        self.localiser = _features()
        self.core = nn.GRUCell(_FEATURES, config.hidden)
        self.place = first_identity(config.hidden)
        self.reader = convolutional_reader(config.width, config.classes, cells=3)

    def forward(self, pictures_BHW: Tensor, sample: bool = False) -> Reading:
        """Read pictures (0..1), a digit a look; there is nothing to sample."""
        found_BF = self.localiser(coordinates(pictures_BHW))
        hidden_BN = pictures_BHW.new_zeros(len(pictures_BHW), self.config.hidden)
        looks = []
        for _ in range(self.config.digits):
            hidden_BN = self.core(found_BF, hidden_BN)
            theta_B23 = self.place(hidden_BN).unflatten(1, (2, 3))
            seen_B1SS = transform(pictures_BHW[:, None], theta_B23, self.config.side)
            corners_B42 = quadrilateral(theta_B23, *pictures_BHW.shape[1:])
            looks.append((self.reader(seen_B1SS), corners_B42[:, None], seen_B1SS))
        logits, corners, seen = side_by_side(looks)
        return Reading(logits, self.config.digits, corners, seen)


def _features() -> nn.Sequential:
    """The whole picture, with the place of every pixel, [B, 3, H, W] to [B, F]."""
    return nn.Sequential(
        nn.AvgPool2d(2),
        nn.Conv2d(3, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, _CHANNELS, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(_CHANNELS, _CHANNELS, 3, padding=1),
        nn.ReLU(),
        # Pictures differ in size, and what is behind has to be as large for all.
        nn.AdaptiveMaxPool2d(_CELLS),
        nn.Flatten(),
    )
