"""Digits: the corpus MNIST, training of digit readers, and evaluation on held-out digits."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.lab.heads import measure_heads_for_card
from areaviz.lab.loop import (
    Description,
    TrainConfig,
    load_or_make_array,
    optimise_for_training,
    read_training_texts,
    step_generators,
    take_best,
)
from areaviz.lab.measure import Measured, Options
from areaviz.models.digit_reader import (
    DIGIT_NETWORKS,
    DigitOptions,
    DigitReader,
    measure_reading,
    to_unit_range,
)
from areaviz.models.digits import (
    REWARDS,
    ClassifierPass,
    DramConfig,
    ItemsConfig,
    RamConfig,
    RnnStnConfig,
    StnConfig,
    compute_reading_loss,
)
from areaviz.samples.digits import DIGIT_SIDE, DigitScenes, Images, Labels, compose_scenes
from areaviz.trace.errors import BackendError, InputError, check_choice
from areaviz.trace.request import Picture, Request

# MNIST: 70,000 handwritten digits of 28 x 28 pixels (LeCun et al. 1998).


VALIDATION_DIGITS = 5000
"""Number of training digits, taken from the end, that are reserved for choosing checkpoints."""

_FILES = {"train": "train", "val": "train", "test": "t10k"}


def read_digits(folder: Path, split: str) -> tuple[Images, Labels]:
    """Read the digits of "train" (55,000), "val" (5,000) or "test" (10,000), and their labels.

    Returns:
        The digits, uint8 [N, 28, 28], with 0 for background and 255 for ink, and the labels, int64
        [N].

    Raises:
        FileNotFoundError: The corpus is not in `folder`.
        BackendError: A file is not a valid idx file.
    """
    name = _FILES[split]
    images = _read_idx(folder / "mnist" / f"{name}-images-idx3-ubyte.gz").reshape(
        -1, DIGIT_SIDE, DIGIT_SIDE
    )
    labels = _read_idx(folder / "mnist" / f"{name}-labels-idx1-ubyte.gz").astype(np.int64)
    if split == "train":
        return images[:-VALIDATION_DIGITS], labels[:-VALIDATION_DIGITS]
    if split == "val":
        return images[-VALIDATION_DIGITS:], labels[-VALIDATION_DIGITS:]
    return images, labels


def _read_idx(path: Path) -> Images:
    """Return the data of an idx file without its header."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. Put MNIST's four idx files (gzipped) into that folder."
        )
    try:
        with gzip.open(path) as file:
            content = file.read()
        # The header has two zeros, type 8 (unsigned byte), the number of axes, and their lengths.
        axes = content[3] if content[:3] == b"\0\0\x08" else 0
        lengths = np.frombuffer(content, ">u4", axes, 4)
        values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
        if not axes or values.size != lengths.prod():
            raise ValueError("its header and its length disagree")
    except (EOFError, OSError, ValueError) as error:
        raise BackendError(
            f"{path.name} is not an idx file of bytes, or it is incomplete. Fetch it again."
        ) from error
    return values


# Training of digit readers, which are models that read the digits in a picture.
#
# Models with glimpses learn by REINFORCE, and spatial transformers by gradient descent. Shapes: B
# pictures, S their side, D digits per picture.


NEVER_TOLD = " Where it looks is learned from being right or wrong alone."
TOLD = (
    " In its first {told:,} updates it was told where each digit is, for {looks}; after that where"
    " it looks is learned from being right or wrong alone."
)
ALWAYS_TOLD = (
    " In all of its updates it was told where each digit is, for {looks}, beside being told whether"
    " it was right."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitsConfig(TrainConfig):
    """The recipe of a digit reader.

    Args:
        network: A key of `DIGIT_NETWORKS`.
        batch: Pictures per update.
        drawn: Number of digits that are drawn in addition to MNIST's digits.
        early: Weight of the cross-entropy before the last step of reading.
        reward: Reward of a step, see `compute_reading_loss`.
        start_run: Name of the run whose best weights this run starts from, or "" for none. Models
            with hard attention start from soft attention, and models of pairs from single digits.
        told: Number of updates at the start with location supervision, see `Reading.aims`. Without
            supervision, the first rewards are only noise.
    """

    network: str
    batch: int = 128
    drawn: int = 5000
    early: float = 0.1
    reward: str = "answers"
    start_run: str = ""
    told: int = 0

    def __post_init__(self) -> None:
        check_choice("reward", self.reward, REWARDS)
        check_choice("network", self.network, tuple(DIGIT_NETWORKS))
        if self.told and self.network not in CAN_BE_TOLD:
            raise InputError(
                f'The network "{self.network}" cannot learn from the places of digits. Set'
                f" told to 0, or choose one of: {', '.join(CAN_BE_TOLD)}."
            )


CAN_BE_TOLD = ("ram", "dram", "rnn-stn")
"""Networks that support location supervision, because their readings have aims."""

TOLD_WEIGHT = 10.0
"""Weight of the supervision loss, which is the squared distance from each aim to its digit."""


@dataclass(frozen=True, slots=True)
class DigitBatch:
    """Pictures of one update, and whether it uses location supervision."""

    scenes: DigitScenes
    told: bool


@dataclass(slots=True)
class Digits:
    """The task of reading digits, with the digits from which training pictures are composed."""

    Recipe: ClassVar[type[TrainConfig]] = DigitsConfig

    config: DigitsConfig
    options: DigitOptions
    network: nn.Module
    digits: Images
    labels: Labels
    valid: DigitScenes
    device: torch.device

    @classmethod
    def build(cls, config: DigitsConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read MNIST from `data`, draw the additional digits and make the network."""
        options, network = DIGIT_NETWORKS[config.network]
        torch.manual_seed(config.seed)
        chosen: DigitOptions = options(**config.model)
        made = optimise_for_training(network(chosen).to(device), device)
        if config.start_run:
            take_best(made, folder.parent / config.start_run, device)
        digits, labels = read_digits(data, "train")
        drawn, drawn_labels = _load_drawn_digits(folder, config)
        # Validation pictures are identical in every run, so runs can be compared.
        valid = compose_scenes(chosen.kind, *read_digits(data, "val"), np.random.default_rng(0))
        digits = np.concatenate([digits, drawn])
        labels = np.concatenate([labels, drawn_labels])
        return cls(config, chosen, made, digits, labels, valid, device)

    def batches(self, first_step: int) -> Iterator[DigitBatch]:
        """Yield pictures of random digits in random places without end."""
        kind = self.options.kind
        each = self.config.batch * (2 if kind == "pairs" else 1)
        for step, rng in enumerate(step_generators(self.config.seed, first_step), first_step):
            chosen = rng.integers(len(self.digits), size=each)
            scenes = compose_scenes(kind, self.digits[chosen], self.labels[chosen], rng)
            yield DigitBatch(scenes, step < self.config.told)

    def loss(self, batch: DigitBatch) -> Tensor:
        """Compute the loss of a batch: `compute_reading_loss`, and the supervision of locations.

        Updates with location supervision add the mean squared distance from the aims to the centres
        of the digits, times `TOLD_WEIGHT`.
        """
        scenes = batch.scenes
        reading: ClassifierPass = self.network(
            to_unit_range(scenes.pictures, self.device), sample=True
        )
        labels_BD = torch.from_numpy(scenes.labels).to(self.device)
        loss = compute_reading_loss(reading, labels_BD, self.config.early, self.config.reward)
        if not batch.told or reading.aims is None:
            return loss
        middles_BDA2 = _find_centres(scenes).to(self.device)[:, :, None].expand_as(reading.aims)
        return loss + TOLD_WEIGHT * F.mse_loss(reading.aims, middles_BDA2)

    def validate(self, step: int) -> dict[str, float]:
        """Measure the error, and how often the model looks at a digit, see `measure_reading`.

        The score combines both.
        """
        figures = measure_reading(self.network, self.valid, self.device)
        score = figures["error"] + 0.05 * (1 - figures.get("hit", 1.0))
        return {"score": score, **{f"valid_{name}": value for name, value in figures.items()}}

    def save(self, folder: Path) -> None:
        """Do nothing. A digit reader needs no other files than its weights."""

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        title, mechanism = _name_model(self.options)
        texts = read_training_texts("digits", drawn=self.config.drawn)
        return Description(
            family=self.config.network,
            title=title,
            task="digits",
            level="digit",
            mechanism=mechanism,
            trained_length=self.valid.labels.shape[1],
            config=asdict(self.options),
            data=texts.data,
            limits=texts.limits + self._told(),
            licence=texts.licence,
            recipe={"chosen_by": CHOSEN_BY if mechanism != "none" else "validation error"},
        )

    def _told(self) -> str:
        """Return a sentence on how the model learned where to look, for the limits on its card."""
        if _name_model(self.options)[1] == "none":
            return ""
        if not self.config.told:
            return NEVER_TOLD
        looks = "its first look at it"
        if isinstance(self.options, RamConfig):
            looks = "every look but the first"
            if self.options.digits > 1:
                looks = "all looks that it chooses, but the last at each later digit"
        if self.config.told >= self.config.steps:
            return ALWAYS_TOLD.format(looks=looks)
        return TOLD.format(told=self.config.told, looks=looks)


def _find_centres(scenes: DigitScenes) -> Tensor:
    """Return the centre (x, y) of each digit's box in -1 to 1: [B, D, 2]."""
    side = scenes.pictures.shape[1]
    corners_BD22 = torch.from_numpy(scenes.boxes).float().unflatten(2, (2, 2))
    middles_BD2: Tensor = corners_BD22.mean(2) / side * 2 - 1
    return middles_BD2


CHOSEN_BY = "validation error + 0.05 x (1 - share of looks that hit a digit)"
WHERE = {
    "centred": "a digit",
    "translated": "a moved digit",
    "cluttered": "a digit in clutter",
    "pairs": "two digits",
}


def _name_model(config: DigitOptions) -> tuple[str, str]:
    """Return a title and the kind of attention in the terms of the survey."""
    match config:
        case RamConfig():
            layer = ", one layer" if config.digits > 1 else ""
            return f"Glimpses at {WHERE[config.kind]}{layer}", "location-wise hard"
        case DramConfig():
            # A coarse look in the options does not prove that the trained network uses it.
            without = "" if config.context else ", without a coarse look"
            return f"Glimpses at {WHERE[config.kind]}{without}", "location-wise hard"
        case StnConfig(attends=True):
            return f"Spatial transformer on {WHERE[config.kind]}", "location-wise soft"
        case StnConfig():
            title = f"No attention, {WHERE[config.kind]}, {config.width} channels"
            return title, "none"
        case RnnStnConfig():
            return (
                f"Spatial transformer, look by look, on {WHERE[config.kind]}",
                "location-wise soft",
            )
        case ItemsConfig():
            kind = "hard" if config.hard else "soft"
            title = f"{kind.capitalize()} attention to cells, {WHERE[config.kind]}"
            return title, f"item-wise {kind}"


def _load_drawn_digits(folder: Path, config: DigitsConfig) -> tuple[Images, Labels]:
    """Return the drawn digits of a run, with their labels.

    They are cached in the run's folder for machines without Pillow.
    """
    labels = np.arange(config.drawn, dtype=np.int64) % 10

    def draw() -> Images:
        from areaviz.samples.digits import draw_digits  # needs Pillow

        return draw_digits(labels, np.random.default_rng(config.seed))

    return load_or_make_array(folder / f"drawn-{config.drawn}-{config.seed}.npy", draw), labels


# Evaluation of digit classifiers on held-out digits, for the figures of their cards.


SEED = 0


def evaluate_digits(model: DigitReader, data: Path, split: str, options: Options) -> Measured:
    """Measure a digit classifier on "val" or "test".

    Its glimpses are compared with glimpses at random places, glimpses at another picture, and
    glimpses of the untrained network.
    untrained network.
    """
    digits, labels = read_digits(data, split)
    rng = np.random.default_rng(SEED)
    scenes = compose_scenes(str(model.card.config["kind"]), digits, labels, rng)
    looks, untrained = model.measure(scenes), model.make_untrained().measure(scenes)
    figures = {"loss": looks.pop("loss"), "error": looks.pop("error")}
    blind = model.measure_baselines(scenes)
    before = {f"{name}_untrained": untrained[name] for name in looks}
    attention = {f"looks, {split}": {**looks, **blind, **before}} if looks else {}
    heads: Mapping[str, Mapping[str, Any]] = {}
    if split == "val":
        pictures = scenes.pictures[: options.traces]
        heads = measure_heads_for_card(model, [_make_request(model, pixels) for pixels in pictures])
    if not options.outputs:
        return Measured({}, attention, heads=heads)
    return Measured({**figures, "pictures": len(scenes.pictures)}, attention, heads=heads)


def _make_request(model: DigitReader, pixels_SS: npt.NDArray[np.uint8]) -> Request:
    """Return a request for one picture of drawn digits, light on dark."""
    grey_SSC = np.repeat(pixels_SS[..., None], 3, axis=-1)
    return Request(model.card.name, "", picture=Picture.of("digits", grey_SSC))
