"""The recurrent attention model (Mnih et al. 2014; survey Fig. 12, Eq. 18-24): a few glimpses, then
an answer; of more than one digit, one answer after the other.

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
from areaviz.models.reading import Reading, glimpsed


@dataclass(frozen=True, slots=True)
class RamConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        glimpses: looks at each digit.
        side: of a patch, in pixels.
        scales: how many patches a glimpse has, each twice as wide.
        width: hidden units.
        std: of the places sampled in training, in half pictures.
        classes: labels.
        digits: how many are read one after the other, `glimpses` each.
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

    def forward(self, pictures_BHW: Tensor, sample: bool) -> Reading:
        """Look at pictures (0..1). With `sample` places are drawn around the locator's mean, else
        they are the mean.

        The first place is the middle of the picture, or near it.
        """
        retina = Retina(pictures_BHW, self.config.side, self.config.scales)
        hidden = pictures_BHW.new_zeros(len(pictures_BHW), self.config.width)
        mean = pictures_BHW.new_zeros(len(pictures_BHW), 2)
        glimpses, states = [], []
        for _ in range(self.config.digits * self.config.glimpses):
            place, log_probability = sample_place(mean, self.config.std, sample)
            # Detached here and below: where to look is learned from rewards alone (section 3.2).
            baseline = self.baseline(hidden.detach())[:, 0]
            patches, boxes = retina.read(place)
            what, where = F.relu(self.what(patches.flatten(1))), F.relu(self.where(place))
            glimpse = F.relu(self.glimpse(torch.cat([what, where], 1)))
            hidden = F.relu(self.core(torch.cat([hidden, glimpse], 1)))
            states.append(hidden)
            mean = torch.tanh(self.locator(hidden.detach()))
            logits = self.classifier(hidden)
            glimpses.append((boxes, patches, logits, log_probability, baseline))
        return replace(glimpsed(glimpses, self.config.digits), aims=self._aims(states))

    def _aims(self, states: Sequence[Tensor]) -> Tensor:
        """Where looks at each digit would go without chance: [B, D, T / D - 1, 2].

        Of the first digit all but the first look, which is always at the middle; of the others as
        many, from their first one on.
        """
        each, aims_DBA2 = self.config.glimpses, []
        for digit in range(self.config.digits):
            # A state says where the look after it goes.
            first = max(digit * each - 1, 0)
            # Whoever is told where to look learns to see it, too: these states are not detached.
            before_BAN = torch.stack(list(states[first : first + each - 1]), 1)
            aims_DBA2.append(torch.tanh(self.locator(before_BAN)))
        return torch.stack(aims_DBA2, 1)
