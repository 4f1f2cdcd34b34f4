"""Training of the doubly attentive Transformer on a mixture of batches, each of one kind (Arslan et
al. 2018, 6.1).

Shapes: B examples, P cells, C channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from areaviz.data.tokenizer import Tokenizer
from areaviz.models.checkpoint import TOKENIZER
from areaviz.models.doubly_attentive import SITES, DoublyAttentive, DoublyConfig
from areaviz.training.captioned_pictures import picture_side
from areaviz.training.config import TrainConfig
from areaviz.training.picture_pairs import KINDS, Example, Illustrated, Mixed, illustrated
from areaviz.training.pointing import CHOSEN_BY, POINTED, WORTH, right_words
from areaviz.training.sentences import cross_entropy, longest, mean_loss, run_tokenizer, total_loss
from areaviz.training.speed import fastest
from areaviz.training.task import Description
from areaviz.training.translation import encode, length_limit

LEVELS = {"photos": "token", "scenes": "word"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureTranslationConfig(TrainConfig):
    """The recipe of a translator that looks.

    pictures: "photos" or "scenes". encoder_run: name of the run whose picture encoder is taken over
    and left as it is. mixture: share of the batches of each kind, see `KINDS`. hide: share of the
    words that pictures may tell that are hidden in the source. batch: examples an update.
    vocabulary: most items of the tokenizer.
    """

    pictures: str
    encoder_run: str
    mixture: Mapping[str, float] = field(
        default_factory=lambda: {"text": 0.3, "caption": 0.2, "triple": 0.5}
    )
    hide: float = 0.3
    batch: int = 64
    vocabulary: int = 6000
    label_smoothing: float = 0.1


@dataclass(slots=True)
class PictureTranslation:
    """The task: sentence pairs, pictures, and both."""

    config: PictureTranslationConfig
    network: DoublyAttentive
    tokenizer: Tokenizer
    train: Illustrated
    valid: Illustrated
    device: torch.device

    @classmethod
    def build(
        cls, config: PictureTranslationConfig, data: Path, folder: Path, device: torch.device
    ) -> Self:
        """Read or draw the pictures, learn the tokenizer, and make the network."""
        side = picture_side(config.model)
        train, valid = (
            illustrated(config.pictures, split, data, folder.parent, side)
            for split in ("train", "val")
        )
        tokenizer = run_tokenizer(
            folder / TOKENIZER, train.texts(), config.vocabulary, LEVELS[config.pictures]
        )
        torch.manual_seed(config.seed)
        network = DoublyAttentive(DoublyConfig(len(tokenizer), **config.model))
        network = fastest(network.to(device), device)
        run = folder.parent / config.encoder_run
        train, valid = (
            replace(one, pictures=one.pictures.encoded(network.pictures, run, device))
            for one in (train, valid)
        )
        return cls(config, network, tokenizer, train, valid, device)

    def batches(self, first_step: int) -> Iterator[Mixed]:
        """Batches of one kind each, the kind by chance, for ever."""
        step, shares = first_step, [self.config.mixture.get(kind, 0.0) for kind in KINDS]
        while True:
            rng = np.random.default_rng((self.config.seed, step))
            kind = str(rng.choice(KINDS, p=shares))
            chosen = self.train.draw(kind, self.config.batch, rng)
            yield self.train.batch(kind, chosen, self.tokenizer, self.config.hide, rng).to(
                self.device
            )
            step += 1

    def loss(self, batch: Mixed) -> Tensor:
        """Cross-entropy of the next token with label smoothing, in nats."""
        pictures = None if batch.pictures is None else batch.pictures.float()
        logits = self.network(batch.source, pictures, batch.target_in)
        return cross_entropy(logits.float(), batch.target_out, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Cross-entropy a token with the picture, without one, and with the next example's; where
        gold boxes are known, the share of words that the best head points right for.
        """
        examples = self.valid.examples["triple"][:1024]
        wrong = [
            replace(one, picture=other.picture)
            for one, other in zip(examples, _turned(examples), strict=True)
        ]
        loss = self._loss("triple", examples)
        without, swapped = self._loss("text", examples), self._loss("triple", wrong)
        losses = {"valid_loss": loss, "valid_loss_without": without, "valid_loss_wrong": swapped}
        if not examples[0].boxes:
            return {**losses, "score": loss}
        pointing = self._pointing(examples[:POINTED])
        return {**losses, "valid_pointing": pointing, "score": loss - WORTH * pointing}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """The task's part of the card."""
        about = self.train.pictures.about
        pairs = encode(
            self.tokenizer, [(one.source, one.target) for one in self.valid.examples["triple"]]
        )
        counts = {kind: f"{len(examples):,}" for kind, examples in self.train.examples.items()}
        return Description(
            family="doubly",
            title=TITLES[self.config.pictures],
            task="picture translation",
            level=LEVELS[self.config.pictures],
            mechanism="text and picture",
            size="",
            trained_length=longest(self.tokenizer.ids(source) for source in self._sources()),
            config=asdict(self.network.config),
            data={**about.data, "examples": counts},
            limits=LIMITS[self.config.pictures],
            licence=about.licence,
            recipe={
                "length_limit": length_limit(pairs),
                "encoder": dict(self.train.pictures.encoder),
                "chosen by": CHOICES[self.config.pictures],
            },
        )

    def _sources(self) -> set[str]:
        """Every sentence that is translated in training, with a picture or without."""
        return {one.source for kind in ("text", "triple") for one in self.train.examples[kind]}

    def _pointing(self, examples: Sequence[Example]) -> float:
        """The share of the boxed words of the targets whose attention lies on their boxes, for the
        best head.
        """
        areas = self.network.config.areas(0).grid(self.network.config.grid**2)
        right: dict[int, list[bool]] = {}
        for first in range(0, len(examples), 64):
            part = examples[first : first + 64]
            batch = self.valid.batch("triple", part, self.tokenizer, 0.0, None).to(self.device)
            pictures = None if batch.pictures is None else batch.pictures.float()
            run = self.network.attend(batch.source, pictures, batch.target_in)
            told = [(one.target, one.boxes) for one in part]
            for head, weights_BTA in enumerate(
                torch.cat(run.weights[SITES["picture"]], 1).unbind(1)
            ):
                found = right_words(weights_BTA.float().cpu().numpy(), areas, self.tokenizer, told)
                right.setdefault(head, []).extend(found)
        return max(float(np.mean(words)) for words in right.values())

    def _loss(self, kind: str, examples: Sequence[Example]) -> float:
        totals = []
        for first in range(0, len(examples), 64):
            batch = self.valid.batch(
                kind, examples[first : first + 64], self.tokenizer, self.config.hide, None
            )
            batch = batch.to(self.device)
            pictures = None if batch.pictures is None else batch.pictures.float()
            totals.append(
                total_loss(self.network(batch.source, pictures, batch.target_in), batch.target_out)
            )
        return mean_loss(totals)


TITLES = {"photos": "Translation with a photo", "scenes": "Translation with a shape scene"}
CHOICES = {
    "photos": "validation loss: no gold boxes are known for the German words",
    "scenes": f"{CHOSEN_BY} of the best head",
}
LIMITS = {
    "photos": (
        "Learned from short captions of photographs alone, with few photographs: on any other text"
        " it invents. Attention shows where a head looks, not why the model decides."
    ),
    "scenes": "Knows the words of the shape scenes alone, and drawn shapes alone.",
}


def _turned(examples: Sequence[Example]) -> list[Example]:
    """Each example's next one, round and round."""
    return [*examples[1:], examples[0]]
