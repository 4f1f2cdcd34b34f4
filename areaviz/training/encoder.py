"""Training of the picture encoder from scratch: the words of a photo's captions, then the captions themselves.

Shapes: B photos, N captions, T words, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.data.batches import pad
from areaviz.data.flickr8k import Photo
from areaviz.data.tokenizer import Tokenizer
from areaviz.metrics.ranking import mean_average_precision
from areaviz.models.captioner import CaptionerConfig, CaptionTransformer
from areaviz.models.checkpoint import TOKENIZER
from areaviz.training.config import TrainConfig
from areaviz.training.photos import augment, content_words, packed_photos, word_labels
from areaviz.training.sentences import cross_entropy, shifted, word_tokenizer
from areaviz.training.task import Description


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderTaskConfig(TrainConfig):
    """The recipe of a picture encoder.

    words: how many caption words are told apart. batch: photos an update. captions_from: the step from which
    captions are learned as well. vocabulary: words of the captions.
    """

    words: int = 300
    batch: int = 48
    captions_from: int = 1000
    vocabulary: int = 3000


class WordReader(nn.Module):
    """A captioner with a second head that names the words of a photo."""

    def __init__(self, config: CaptionerConfig, words: int) -> None:
        super().__init__()
        self.captioner = CaptionTransformer(config)
        self.words = nn.Linear(2 * self.captioner.encoder_config.width, words)

    def forward(self, features_BMC: Tensor) -> Tensor:
        """Logits of the words: [B, words]."""
        logits: Tensor = self.words(torch.cat([features_BMC.mean(1), features_BMC.amax(1)], 1))
        return logits


@dataclass(slots=True)
class EncoderTask:
    """The task: photos, the words of their captions, and the captions."""

    config: EncoderTaskConfig
    network: WordReader
    tokenizer: Tokenizer
    words: Sequence[str]
    train: tuple[Sequence[Photo], npt.NDArray[np.uint8]]
    valid: tuple[Sequence[Photo], npt.NDArray[np.uint8]]
    labels: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
    device: torch.device

    @classmethod
    def build(cls, config: EncoderTaskConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Pack the photos, learn the words, and make the network."""
        train, valid = (packed_photos(data, folder.parent, split) for split in ("train", "val"))
        tokenizer = word_tokenizer(folder / TOKENIZER, (t for p in train[0] for t in p.captions), config.vocabulary)
        words = content_words(train[0], config.words)
        torch.manual_seed(config.seed)
        network = WordReader(CaptionerConfig(len(tokenizer), **config.model), config.words).to(device)
        labels = word_labels(train[0], words), word_labels(valid[0], words)
        return cls(config, network, tokenizer, words, train, valid, labels, device)

    def batches(self, first_step: int) -> Iterator[tuple[int, Tensor, Tensor, Tensor]]:
        """Step, pixels, word labels, and two captions a photo, for ever."""
        photos, pixels = self.train
        step = first_step
        while True:
            rng = np.random.default_rng((self.config.seed, step))
            chosen = np.sort(rng.choice(len(photos), self.config.batch, replace=False))
            generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
            cut = augment(torch.from_numpy(pixels[chosen]), generator)
            texts = [photos[i].captions[j] for i in chosen for j in rng.choice(5, 2, replace=False)]
            captions = pad([self.tokenizer.ids(text) for text in texts])
            labels = torch.from_numpy(self.labels[0][chosen])
            yield step, cut.to(self.device), labels.to(self.device), captions.to(self.device)
            step += 1

    def loss(self, batch: tuple[int, Tensor, Tensor, Tensor]) -> Tensor:
        """Binary cross-entropy of the words, a photo; from `captions_from` on also that of the captions, a word."""
        step, pixels, labels, captions = batch
        features = self.network.captioner.look(pixels)
        loss = F.binary_cross_entropy_with_logits(self.network(features), labels, reduction="sum") / len(labels) / 10
        if step < self.config.captions_from:
            return loss
        logits = self.network.captioner(features, shifted(captions))
        return 0.3 * loss + cross_entropy(logits.float(), captions, 0.1)

    def validate(self) -> dict[str, float]:
        """Mean average precision of the words, beside that of the words' frequencies, and the captions' loss."""
        photos, pixels = self.valid
        found, losses = [], []
        for first in range(0, len(photos), 64):
            features = self.network.captioner.look(torch.from_numpy(pixels[first : first + 64]).to(self.device))
            found.append(self.network(features).float().cpu().numpy())
            rows = [self.tokenizer.ids(photo.captions[0]) for photo in photos[first : first + 64]]
            captions = pad(rows).to(self.device)
            losses.append(cross_entropy(self.network.captioner(features, shifted(captions)), captions).item())
        precision = mean_average_precision(np.concatenate(found), self.labels[1])
        prior = float(self.labels[1].mean())
        return {"valid_loss": float(np.mean(losses)), "valid_map": precision, "prior_map": prior, "score": -precision}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """The task's part of the card."""
        return Description(
            family="encoder",
            title="Picture encoder",
            task="words of a photo",
            level="word",
            mechanism="none",
            size="",
            trained_length=self.config.words,
            config=asdict(self.network.captioner.config),
            data={"name": "Flickr8k"},
            limits="",
            licence="",
            recipe={},
        )


def load_encoder(network: CaptionTransformer, folder: Path) -> None:
    """Give a captioner the encoder that a run of this task trained; `folder` is the run's."""
    weights: dict[str, Any] = torch.load(folder / "best.pt", map_location="cpu", weights_only=True)
    start = "captioner.pictures."
    kept = {name.removeprefix(start): value for name, value in weights.items() if name.startswith(start)}
    network.pictures.load_state_dict(kept)
