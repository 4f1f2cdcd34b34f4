"""The recurrent attention model, which answers after a few glimpses.

Mnih et al. 2014; survey Fig. 12, Eq. 18-24. It reads several digits one after the other.

Shapes: B batch, H, W of the picture, T glimpses, D digits, A aims at each, K scales, S side of a
patch, N hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.hard import Retina, sample_place
from areaviz.models.classifier_pass import ClassifierPass, combine_glimpses


@dataclass(frozen=True, slots=True)
class RamConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        glimpses: glimpses at each digit.
        side: side of a patch, in pixels.
        scales: number of patches of a glimpse, each twice as wide as the previous one.
        width: hidden units.
        std: standard deviation of the places sampled in training, in half pictures.
        classes: number of labels.
        digits: number of digits that are read one after the other, with `glimpses` glimpses each.
    """

    kind: str = "centred"
    glimpses: int = 6
    side: int = 8
    scales: int = 1
    width: int = 256
    std: float = 0.15
    classes: int = 10
    digits: int = 1


class Ram(nn.Module):
    """Glimpse network, recurrent core, locator, baseline and classifier."""

    def __init__(self, config: RamConfig) -> None:
        super().__init__()
        self.config = config
        half, width = config.width // 2, config.width
        self.what = nn.Linear(config.scales * config.side**2, half)
        self.where = nn.Linear(2, half)
        self.glimpse = nn.Linear(2 * half, width)
        self.core = nn.Linear(2 * width, width)
        self.locator = nn.Linear(width, 2)
        self.baseline = nn.Linear(width, 1)
        self.classifier = nn.Linear(width, config.classes)

    def forward(self, pictures_BHW: Tensor, sample: bool) -> ClassifierPass:
        """Read pictures with values 0..1.

        The first place is the middle of the picture, or a place drawn around it.

        Args:
            pictures_BHW: the pictures.
            sample: whether to draw places around the locator's mean. Otherwise the mean is used.
        """
        retina = Retina(pictures_BHW, self.config.side, self.config.scales)
        hidden = pictures_BHW.new_zeros(len(pictures_BHW), self.config.width)
        mean = pictures_BHW.new_zeros(len(pictures_BHW), 2)
        glimpses, states = [], []
        for _ in range(self.config.digits * self.config.glimpses):
            place, log_probability = sample_place(mean, self.config.std, sample)
            # The state is detached here and below because only rewards train the locations
            # (section 3.2).
            baseline = self.baseline(hidden.detach())[:, 0]
            patches, boxes = retina.read_patches(place)
            what, where = F.relu(self.what(patches.flatten(1))), F.relu(self.where(place))
            glimpse = F.relu(self.glimpse(torch.cat([what, where], 1)))
            hidden = F.relu(self.core(torch.cat([hidden, glimpse], 1)))
            states.append(hidden)
            mean = torch.tanh(self.locator(hidden.detach()))
            logits = self.classifier(hidden)
            glimpses.append((boxes, patches, logits, log_probability, baseline))
        return replace(
            combine_glimpses(glimpses, self.config.digits), aims=self._compute_aims(states)
        )

    def _compute_aims(self, states: Sequence[Tensor]) -> Tensor:
        """Return the mean locations of the glimpses at each digit: [B, D, T / D - 1, 2].

        The first glimpse at the first digit is left out because it is always at the middle. For
        every other digit, the last glimpse is left out, so that all digits have equally many
        locations.
        """
        each, aims_DBA2 = self.config.glimpses, []
        for digit in range(self.config.digits):
            # Each state determines the location of the next glimpse.
            first = max(digit * each - 1, 0)
            # These states are not detached: location supervision also trains the features that find
            # a digit.
            before_BAN = torch.stack(list(states[first : first + each - 1]), 1)
            aims_DBA2.append(torch.tanh(self.locator(before_BAN)))
        return torch.stack(aims_DBA2, 1)
