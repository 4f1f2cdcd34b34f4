"""Networks that read digits: with soft or hard attention, glimpses, or spatial transformers.

All return a `ClassifierPass`, which comes first. Each network then has a section of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.hard import (
    Retina,
    choose_item,
    compute_reinforce_loss,
    find_corners_px,
    sample_place,
    sample_quadrilateral,
)
from areaviz.samples.digits import DIGIT_KINDS

# The result of a digit classifier for a batch, and its training loss.
#
# Shapes: B pictures, T looks, K scales, S side of a patch, M cells, D digits to be read, C classes.


@dataclass(frozen=True, slots=True)
class ClassifierPass:
    """The result for a batch of pictures, with values for every look.

    Attention to locations sets `corners` and `seen`, attention to items sets `weights`. Random
    choices set `log_probability` and `baseline`.

    Args:
        logits: [B, T, C], the prediction after each look.
        digits: number of digits that are read one after the other, with T / digits looks each. The
            logits after a digit's last look are its answer.
        corners: [B, T, K, 4, 2], of the patch at each scale, (x, y) in pixels, clockwise from the
            corner that becomes the top left one.
        seen: [B, T, K, S, S], the patches, 0..1.
        weights: [B, T, M], weights of the cells.
        chosen: int64 [B, T], the cell read by hard attention.
        log_probability: [B, T], of each choice.
        baseline: [B, T], the reward expected before each choice.
        aims: [B, D, A, 2], the mean locations of the looks at each digit that location supervision
            can train, (x, y) in -1..1: the first look, or those that `Ram` chooses.
        coarse: [B, G, G], the coarse view of the whole picture before the first look, 0..1.
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


def compute_reading_loss(
    reading: ClassifierPass, labels_BD: Tensor, early: float, reward: str = "answers"
) -> Tensor:
    """Compute the training loss of a reading.

    It is the cross-entropy of the answers. If looks were sampled, the REINFORCE loss and the error
    of the baseline are added.

    Args:
        reading: the reading of a batch.
        labels_BD: the correct digits.
        early: weight of the cross-entropy after every look, which makes early predictions
            meaningful.
        reward: the reward of a look, counted from that look on. "answers" counts correct digits.
            "looks" counts the share of a digit's looks after which the prediction is correct. This
            rewards a good first look, even if later looks alone would lead to the correct digit.
    """
    answers_BDC, each = reading.answers, reading.logits.shape[1] // reading.digits
    loss = F.cross_entropy(answers_BDC.flatten(0, 1), labels_BD.flatten())
    if each > 1:
        labels_BT = labels_BD.repeat_interleave(each, 1)
        loss = loss + early * F.cross_entropy(reading.logits.flatten(0, 1), labels_BT.flatten())
    if reading.log_probability is None or reading.baseline is None:
        return loss
    # A look cannot change earlier answers, so only later answers reward it.
    if reward == "looks":
        labels_BT = labels_BD.repeat_interleave(each, 1)
        right_BT = (reading.logits.argmax(2) == labels_BT).float() / each
        to_go_BT = right_BT.flip(1).cumsum(1).flip(1)
    else:
        right_BD = (answers_BDC.argmax(2) == labels_BD).float()
        to_go_BT = right_BD.flip(1).cumsum(1).flip(1).repeat_interleave(each, 1)
    return loss + compute_reinforce_loss(reading.log_probability, to_go_BT, reading.baseline)


# One glimpse: its boxes [B, K, 4], the patches, the logits after it, and the log-probability and
# the expected reward of its place.
Glimpse = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def combine_glimpses(
    glimpses: Sequence[Glimpse], digits: int, coarse: Tensor | None = None
) -> ClassifierPass:
    """Build the reading of a network from its sequence of glimpses."""
    boxes, seen, logits, chance, baseline = stack_looks(glimpses)
    return ClassifierPass(
        logits,
        digits,
        convert_boxes_to_corners(boxes.float()),
        seen,
        log_probability=chance,
        baseline=baseline,
        coarse=coarse,
    )


def stack_looks(looks: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """Stack the parts of all looks, [B, ...] each, along a new axis: [B, T, ...]."""
    return [torch.stack(part, 1) for part in zip(*looks, strict=True)]


def convert_boxes_to_corners(boxes: Tensor) -> Tensor:
    """Convert boxes [..., 4] (left, top, right, bottom) to corners [..., 4, 2], clockwise."""
    left, top, right, bottom = boxes.unbind(-1)
    x = torch.stack([left, right, right, left], -1)
    y = torch.stack([top, top, bottom, bottom], -1)
    return torch.stack([x, y], -1)


def add_coordinates(pictures_BHW: Tensor) -> Tensor:
    """Add the place of every pixel, (x, y) in -1..1, as two channels: [B, 3, H, W]."""
    height, width = pictures_BHW.shape[1:]
    y_H = torch.linspace(-1, 1, height, device=pictures_BHW.device)
    x_W = torch.linspace(-1, 1, width, device=pictures_BHW.device)
    x_BHW = x_W.expand_as(pictures_BHW)
    y_BHW = y_H[:, None].expand_as(pictures_BHW)
    return torch.stack([pictures_BHW, x_BHW, y_BHW], 1)


# A coarse view of a whole picture, from which a network decides where to look (Ba et al. 2015).
#
# Shapes: B batch, H, W of the picture, G side of the coarse view, S side of a patch, N width.


def make_coarse_view(pictures_BHW: Tensor, side: int) -> Tensor:
    """Average the whole picture to a few pixels: [B, G, G]."""
    return F.interpolate(pictures_BHW[:, None], (side, side), mode="area")[:, 0]


def build_convolutions(channels: int, side: int, width: int) -> nn.Sequential:
    """Build three convolutions and a linear layer: [B, channels, S, S] to [B, N].

    The last two convolutions halve the side.
    """
    last = (side + 3) // 4
    return nn.Sequential(
        nn.Conv2d(channels, 24, 3, stride=1, padding=1),
        nn.ReLU(),
        nn.Conv2d(24, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 48, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(48 * last * last, width),
        nn.ReLU(),
    )


# A digit classifier with item-wise attention to a grid of features, in several steps.
#
# The attention is soft or hard (survey Fig. 7 and Eq. 9-17). At every step, a recurrent state
# scores each cell. Soft attention reads the weighted sum of all cells. Hard attention reads one
# cell, which is sampled by the weights and trained with REINFORCE.
#
# Shapes: B pictures, H, W of the picture, T steps, M = G * G cells, C channels, N hidden width.


@dataclass(frozen=True, slots=True)
class ItemsConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `DIGIT_KINDS`.
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


# The recurrent attention model, which answers after a few glimpses.
#
# Mnih et al. 2014; survey Fig. 12, Eq. 18-24. It reads several digits one after the other.
#
# Shapes: B batch, H, W of the picture, T glimpses, D digits, A aims at each, K scales, S side of a
# patch, N hidden width.


@dataclass(frozen=True, slots=True)
class RamConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `DIGIT_KINDS`.
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


# The deep recurrent attention model, which reads several digits one after the other.
#
# Ba et al. 2015; survey Figs. 13 and 14. It has two recurrent layers: the lower one sees glimpses
# and names digits, the upper one only decides where to look. The upper one starts from a coarse
# view of the whole picture, which informs the first glimpse. The lower one never sees this view, so
# it names only digits that it has looked at.
#
# Shapes: B batch, H, W of the picture, T glimpses, K scales, S side of a patch, N hidden width.


@dataclass(frozen=True, slots=True)
class DramConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `DIGIT_KINDS`.
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


# A digit classifier with or without a preceding spatial transformer (Jaderberg et al. 2015).
#
# Shapes: B batch, H, W of the picture, S side of the classifier's input, C classes.


@dataclass(frozen=True, slots=True)
class StnConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `DIGIT_KINDS`.
        attends: whether a spatial transformer precedes the reader. Without it, the reader gets the
            whole picture.
        side: side of the transformer's output, in pixels.
        width: channels of the reader's convolutions.
        hidden: units of the reader's last hidden layer.
        classes: number of labels.
    """

    kind: str = "cluttered"
    attends: bool = True
    side: int = 28
    width: int = 32
    hidden: int = 128
    classes: int = 10


class Stn(nn.Module):
    """A localiser that starts as the identity, the spatial transformer, and the reader."""

    def __init__(self, config: StnConfig) -> None:
        super().__init__()
        self.config = config
        self.localiser = _build_localiser() if config.attends else None
        cells = 3 if config.attends else 4
        self.reader = build_convolutional_reader(config.width, config.classes, cells, config.hidden)

    def forward(self, pictures_BHW: Tensor, sample: bool = False) -> ClassifierPass:
        """Read pictures with values 0..1 in one look. `sample` has no effect."""
        if self.localiser is None:
            return ClassifierPass(self.reader(pictures_BHW[:, None])[:, None])
        theta_B23 = self.localiser(pictures_BHW[:, None]).unflatten(1, (2, 3))
        seen_B1SS = sample_quadrilateral(pictures_BHW[:, None], theta_B23, self.config.side)
        corners_B42 = find_corners_px(theta_B23, *pictures_BHW.shape[1:])
        return ClassifierPass(
            self.reader(seen_B1SS)[:, None], 1, corners_B42[:, None, None], seen_B1SS[:, None]
        )


def build_convolutional_reader(
    width: int, classes: int, cells: int, hidden: int = 128
) -> nn.Sequential:
    """Build a classifier for pictures of any size, [B, 1, H, W], that returns logits [B, classes].

    Args:
        width: channels of the first convolutions.
        classes: number of labels.
        cells: number of cells along a side. The classifier reads the maximum of each cell.
        hidden: units of the last hidden layer.
    """
    return nn.Sequential(
        nn.Conv2d(1, width, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, width, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.ReLU(),
        # Pictures differ in size, but the next layer needs inputs of a fixed size.
        nn.AdaptiveMaxPool2d(cells),
        nn.Flatten(),
        nn.Linear(2 * width * cells**2, hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )


def _build_identity_layer(width: int) -> nn.Linear:
    """Build a layer that returns the six numbers of theta and starts with the identity."""
    layer = nn.Linear(width, 6)
    # With zero weights, every picture starts with the bias: the whole picture.
    nn.init.zeros_(layer.weight)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
    return layer


def _build_localiser() -> nn.Sequential:
    """Build a network from a picture [B, 1, H, W] to the six numbers of theta."""
    return nn.Sequential(
        nn.MaxPool2d(2),
        nn.Conv2d(1, 20, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 20, 5),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(5),
        nn.Flatten(),
        nn.Linear(500, 64),
        nn.ReLU(),
        _build_identity_layer(64),
    )


# A spatial transformer that reads several digits, one look each (Sønderby et al. 2015, RNN-SPN).
#
# Before every look, a recurrent core decides where to look next. Its input is always the features
# of the whole picture. A look has a fixed size, as in Jaderberg et al. (2015, section 4.3). If the
# network learns the size too, looks grow until they show half the picture.
#
# Shapes: B batch, H, W of the picture, D digits, one look each, F features, N hidden width, S side
# of a look.


@dataclass(frozen=True, slots=True)
class RnnStnConfig:
    """The options of the network.

    Args:
        kind: the pictures it reads, a key of `DIGIT_KINDS`.
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
