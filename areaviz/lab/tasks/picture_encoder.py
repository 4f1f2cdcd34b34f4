"""Picture encoders: training from scratch on words of captions, and average precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.lab.loop import Description, TrainConfig, step_generators
from areaviz.lab.pictures import CaptionedPictures, get_picture_side, read_captioned_pictures
from areaviz.lab.sentences import (
    choose_content_words,
    compute_cross_entropy,
    label_words,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.models.base import TOKENIZER
from areaviz.models.captions import CaptionerConfig, CaptionTransformer
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets

# Average precision, which measures how well scores rank examples with a label above others.


FloatArray = npt.NDArray[np.floating]
IntArray = npt.NDArray[np.int64]


def mean_average_precision(scores_NK: FloatArray, labels_NK: FloatArray) -> float:
    """Return the mean over K labels of the average precision over N examples, 0..1.

    Labels that never occur are left out. Without any label the result is NaN. Average precision is
    the mean, over the examples that have the label (1, otherwise 0), of the precision among all
    examples with an equal or higher score. Equal scores therefore give the label's frequency, in
    any order of the examples.
    """
    order_NK = np.argsort(-scores_NK, axis=0, kind="stable")
    ranked_NK = np.take_along_axis(labels_NK, order_NK, 0)
    last_NK = _find_last_of_equals(np.take_along_axis(scores_NK, order_NK, 0))
    precision_NK = np.take_along_axis(ranked_NK.cumsum(0), last_NK, 0) / (last_NK + 1)
    count_K = ranked_NK.sum(0)
    occurs_K = count_K > 0
    if not occurs_K.any():
        return nan
    average_K = (precision_NK * ranked_NK).sum(0)[occurs_K] / count_K[occurs_K]
    return float(average_K.mean())


def _find_last_of_equals(ranked_NK: FloatArray) -> IntArray:
    """Return, for each rank, the last rank with an equal score: [N, K]."""
    count = len(ranked_NK)
    ends_NK = np.ones(ranked_NK.shape, dtype=bool)
    ends_NK[:-1] = ranked_NK[1:] != ranked_NK[:-1]
    rank_NK = np.where(ends_NK, np.arange(count)[:, None], count)
    last_NK: IntArray = np.minimum.accumulate(rank_NK[::-1], 0)[::-1]
    return last_NK


# Training of a picture encoder from scratch, on words of captions and later also on captions.
#
# Shapes: B pictures, M cells, C channels, N captions, T words, V vocabulary.


NAMING, NAMING_BESIDE = 0.1, 0.03
"""Weight of the cross-entropy of a picture's words, without and with the loss of the captions.

The cross-entropy is a sum over hundreds of words. Its weight is small, so that captions count more.
"""
SMOOTHING = 0.1
"""Label smoothing for the next word of a caption, as in the recipes of captioners."""
BATCH = 64
"""Pictures per batch in a validation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderTaskConfig(TrainConfig):
    """The recipe of a picture encoder.

    Args:
        pictures: "photos" or "scenes".
        words: Number of caption words to predict.
        batch: Pictures per update.
        captions_from: Step from which captions are also learned.
        captions_each: Captions per picture in an update.
        vocabulary: Largest number of words in the tokenizer of the captions.
    """

    pictures: str = "photos"
    words: int = 300
    batch: int = 48
    captions_from: int = 1000
    captions_each: int = 2
    vocabulary: int = 3000


class WordReader(nn.Module):
    """A captioner with an additional layer that predicts the words of a picture.

    The layer reads every grid of features that the encoder returns.
    """

    def __init__(self, config: CaptionerConfig, words: int) -> None:
        super().__init__()
        self.captioner = CaptionTransformer(config)
        encoder = self.captioner.encoder_config
        self.words = nn.Linear(2 * len(encoder.grids) * encoder.width, words)

    def look(self, pixels_BHWC: Tensor) -> tuple[Tensor, Tensor]:
        """Return word logits [B, words] and the features that the captioner reads [B, M, C]."""
        grids = self.captioner.pictures(pixels_BHWC)
        pooled: list[Tensor] = []
        for x_BMC in grids.values():
            # The mean represents large content, and the maximum represents small objects.
            pooled += [x_BMC.mean(1), x_BMC.amax(1)]
        return self.words(torch.cat(pooled, 1)), grids[self.captioner.config.grid]


@dataclass(slots=True)
class EncoderTask:
    """The task: pictures, the words of their captions, and the captions."""

    Recipe: ClassVar[type[TrainConfig]] = EncoderTaskConfig

    config: EncoderTaskConfig
    network: WordReader
    tokenizer: Tokenizer
    train: CaptionedPictures
    valid: CaptionedPictures
    labels: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
    device: torch.device

    @classmethod
    def build(
        cls, config: EncoderTaskConfig, data: Path, folder: Path, device: torch.device
    ) -> Self:
        """Read or draw the pictures, build the vocabulary and make the network."""
        side = get_picture_side(config.model)
        train = read_captioned_pictures(config.pictures, "train", data, folder.parent, side)
        valid = read_captioned_pictures(config.pictures, "val", data, folder.parent, side)
        tokenizer = run_tokenizer(folder / TOKENIZER, train.texts(), config.vocabulary)
        words = choose_content_words(train.captions, config.words)
        torch.manual_seed(config.seed)
        network = WordReader(CaptionerConfig(len(tokenizer), **config.model), len(words)).to(device)
        labels = label_words(train.captions, words), label_words(valid.captions, words)
        return cls(config, network, tokenizer, train, valid, labels, device)

    def batches(self, first_step: int) -> Iterator[tuple[int, Tensor, Tensor, Tensor]]:
        """Yield step, pixels, word labels and `captions_each` captions per picture without end."""
        for step, rng in enumerate(step_generators(self.config.seed, first_step), first_step):
            chosen = np.sort(rng.choice(len(self.train), self.config.batch, replace=False))
            pixels = self.train.look(chosen, rng)
            texts: list[str] = []
            for index in chosen.tolist():
                some = self.train.captions[index]
                drawn = rng.choice(len(some), self.config.captions_each, replace=False)
                texts += [some[number] for number in drawn.tolist()]
            captions = pad_rows([self.tokenizer.ids(text) for text in texts])
            labels = torch.from_numpy(self.labels[0][chosen])
            yield step, pixels.to(self.device), labels.to(self.device), captions.to(self.device)

    def loss(self, batch: tuple[int, Tensor, Tensor, Tensor]) -> Tensor:
        """Compute the binary cross-entropy of the words.

        From step `captions_from` on, the cross-entropy of the captions is added.
        """
        step, pixels, labels, captions = batch
        named, features = self.network.look(pixels)
        loss = F.binary_cross_entropy_with_logits(named, labels, reduction="sum") / len(labels)
        if step < self.config.captions_from:
            return NAMING * loss
        logits = self.network.captioner(features, shift_targets(captions))
        return NAMING_BESIDE * loss + compute_cross_entropy(logits.float(), captions, SMOOTHING)

    def validate(self, step: int) -> dict[str, float]:
        """Measure the mean average precision of the words and the loss of the captions.

        "prior_map" is the mean frequency of the words, which is the precision of guessing.
        """
        found, totals = [], []
        for first in range(0, len(self.valid), BATCH):
            chosen = np.arange(first, min(first + BATCH, len(self.valid)))
            named, features = self.network.look(self.valid.look(chosen, None).to(self.device))
            found.append(named.float().cpu().numpy())
            texts = [self.valid.captions[index][0] for index in chosen.tolist()]
            captions = pad_rows([self.tokenizer.ids(text) for text in texts]).to(self.device)
            totals.append(
                sum_loss(self.network.captioner(features, shift_targets(captions)), captions)
            )
        precision = mean_average_precision(np.concatenate(found), self.labels[1])
        prior, loss = float(self.labels[1].mean()), mean_loss(totals)
        score = self._score(step, loss, precision)
        return {"valid_loss": loss, "valid_map": precision, "prior_map": prior, "score": score}

    def _score(self, step: int, loss: float, precision: float) -> float:
        """Return the score to minimise: the loss of the captions minus the precision of the words.

        If captions are never learned, only the precision counts, because the loss of an untrained
        captioner is random. If they are learned later, the loss until then counts as that of
        guessing. Only the precision then chooses among the earlier weights. Later weights replace
        them when their captions are better than guessing.
        """
        if self.config.captions_from >= self.config.steps:
            return -precision
        guessing = math.log(len(self.tokenizer))
        return (loss if step > self.config.captions_from else guessing) - precision

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        texts = self.train.about(self.network.captioner.encoder_config.kind)
        return Description(
            family="encoder",
            title="Picture encoder",
            task="words of a picture",
            level="word",
            mechanism="none",
            trained_length=max(len(text.split()) for text in self.train.texts()),
            config=asdict(self.network.captioner.config),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={},
        )
