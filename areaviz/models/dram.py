"""The deep recurrent attention model, which reads several digits one after the other.

Ba et al. 2015; survey Figs. 13 and 14. It has two recurrent layers: the lower one sees glimpses and
names digits, the upper one only decides where to look. The upper one starts from a coarse view of
the whole picture, which informs the first glimpse. The lower one never sees this view, so
it names only digits that it has looked at.

Shapes: B batch, H, W of the picture, T glimpses, K scales, S side of a patch, N hidden width.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.hard import Retina, sample_place
from areaviz.models.classifier_pass import ClassifierPass, add_coordinates, combine_glimpses
from areaviz.models.context_network import build_convolutions, make_coarse_view


@dataclass(frozen=True, slots=True)
class DramConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `digit_scenes.KINDS`.
        digits: number of digits to read, with `glimpses` glimpses each.
        glimpses: glimpses at each digit.
        side: side of a patch, see `RamConfig`.
        scales: see `RamConfig`.
        width: hidden units of each layer.
        coarse: side of the coarse view in pixels.
        context: whether there is a coarse view.
        std: standard deviation of the places sampled in training.
        classes: number of labels.
    """

    kind: str = "pairs"
    digits: int = 2
    glimpses: int = 4
    side: int = 14
    scales: int = 2
    width: int = 256
    coarse: int = 25
    context: bool = True
    std: float = 0.1
    classes: int = 10


class Dram(nn.Module):
    """Context network, glimpse network, two recurrent layers, locator, baseline and classifier."""

    def __init__(self, config: DramConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.context = build_convolutions(3, config.coarse, width) if config.context else None
        self.what = build_convolutions(config.scales, config.side, width)
        self.where = nn.Linear(2, width)
        self.reader = nn.LSTMCell(width, width)
        self.mover = nn.LSTMCell(width, width)
        self.locator = nn.Linear(width, 2)
        self.baseline = nn.Linear(width, 1)
        self.classifier = nn.Linear(width, config.classes)

    def forward(self, pictures_BHW: Tensor, sample: bool, blind: bool = False) -> ClassifierPass:
        """Read pictures with values 0..1.

        Args:
            pictures_BHW: the pictures.
            sample: whether to draw places around the locator's mean. Otherwise the mean is used.
            blind: whether to withhold the coarse view, to show its effect.
        """
        config, zeros = self.config, pictures_BHW.new_zeros(len(pictures_BHW), self.config.width)
        retina = Retina(pictures_BHW, config.side, config.scales)
        looks_first = self.context is not None and not blind
        coarse = make_coarse_view(pictures_BHW, config.coarse) if looks_first else None
        mover = (zeros if coarse is None else self._make_first_state(coarse), zeros)
        reader = (zeros, zeros)
        glimpses, means = [], []
        for _ in range(config.digits * config.glimpses):
            mean = torch.tanh(self.locator(mover[0]))
            place, log_probability = sample_place(mean, config.std, sample)
            baseline = self.baseline(mover[0].detach())[:, 0]
            patches, boxes = retina.read_patches(place)
            glimpse = self.what(patches) * F.relu(self.where(place))
            reader = self.reader(glimpse, reader)
            # The state is detached, so that moving does not train the layer that names digits.
            mover = self.mover(reader[0].detach(), mover)
            logits = self.classifier(reader[0])
            glimpses.append((boxes, patches, logits, log_probability, baseline))
            means.append(mean)
        reading = combine_glimpses(glimpses, config.digits, coarse)
        return replace(reading, aims=torch.stack(means[:: config.glimpses], 1)[:, :, None])

    def _make_first_state(self, coarse_BGG: Tensor) -> Tensor:
        """Compute the first state of the mover: [B, N]."""
        assert self.context is not None
        return torch.tanh(self.context(add_coordinates(coarse_BGG)))
