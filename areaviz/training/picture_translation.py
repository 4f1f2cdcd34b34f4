"""Training of the Transformer with two memories: a text and a picture.

Batches of sentence pairs, of pictures with a sentence, and of both are mixed (Arslan et al. 2018,
section 6.1). Shapes: B examples, T target items, A areas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.models.base import TOKENIZER
from areaviz.models.picture_translation import SITES, DoublyAttentiveTransformer, TwoMemoriesConfig
from areaviz.models.tokenizer import Tokenizer
from areaviz.training.captioned_pictures import VIEWS, get_picture_side
from areaviz.training.config import TrainConfig
from areaviz.training.picture_pairs import (
    KINDS,
    Example,
    PairBatch,
    PicturePairs,
    read_picture_pairs,
)
from areaviz.training.sentences import (
    CHOSEN_BY,
    POINTED,
    WORTH,
    compute_cross_entropy,
    find_longest,
    find_words_pointed_right,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.training.task import Description, optimise_for_training, step_generators
from areaviz.training.translation import compute_length_limit, encode_pairs

LEVELS = {"photos": "token", "scenes": "word"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureTranslationConfig(TrainConfig):
    """The recipe of a translator that also reads pictures.

    Args:
        pictures: "photos" or "scenes".
        encoder_run: Name of the run whose picture encoder is loaded and frozen.
        views: Number of versions of each training photo that the encoder encodes.
        mixture: Share of the batches of each kind in `KINDS`.
        hide: Probability of masking a source word that the picture may show.
        batch: Examples per update.
        vocabulary: Largest number of items in the tokenizer.
        label_smoothing: Label smoothing for the next token, 0 to 1.
    """

    pictures: str
    encoder_run: str
    views: int = VIEWS
    mixture: Mapping[str, float] = field(
        default_factory=lambda: {"text": 0.3, "caption": 0.2, "triple": 0.5}
    )
    hide: float = 0.3
    batch: int = 64
    vocabulary: int = 6000
    label_smoothing: float = 0.1


@dataclass(slots=True)
class PictureTranslation:
    """The task: sentence pairs, pictures, and both together."""

    Recipe: ClassVar[type[TrainConfig]] = PictureTranslationConfig

    config: PictureTranslationConfig
    network: DoublyAttentiveTransformer
    tokenizer: Tokenizer
    train: PicturePairs
    valid: PicturePairs
    device: torch.device

    @classmethod
    def build(
        cls, config: PictureTranslationConfig, data: Path, folder: Path, device: torch.device
    ) -> Self:
        """Read or draw the pictures, learn the tokenizer and make the network."""
        side = get_picture_side(config.model)
        train = read_picture_pairs(config.pictures, "train", data, folder.parent, side)
        valid = read_picture_pairs(config.pictures, "val", data, folder.parent, side)
        level = LEVELS[config.pictures]
        tokenizer = run_tokenizer(folder / TOKENIZER, train.texts(), config.vocabulary, level)
        torch.manual_seed(config.seed)
        network = DoublyAttentiveTransformer(TwoMemoriesConfig(len(tokenizer), **config.model))
        network = optimise_for_training(network.to(device), device)
        run, encoder = folder.parent / config.encoder_run, network.pictures
        train = replace(train, pictures=train.pictures.encoded(encoder, run, device, config.views))
        valid = replace(valid, pictures=valid.pictures.encoded(encoder, run, device))
        return cls(config, network, tokenizer, train, valid, device)

    def batches(self, first_step: int) -> Iterator[PairBatch]:
        """Yield batches without end. The kind of each batch is drawn at random."""
        shares = [self.config.mixture.get(kind, 0.0) for kind in KINDS]
        for rng in step_generators(self.config.seed, first_step):
            kind = str(rng.choice(KINDS, p=shares))
            chosen = self.train.draw(kind, self.config.batch, rng)
            batch = self.train.batch(kind, chosen, self.tokenizer, self.config.hide, rng)
            yield batch.to(self.device)

    def loss(self, batch: PairBatch) -> Tensor:
        """Compute the cross-entropy of the next token with label smoothing, in nats."""
        logits = self.network(batch.source, batch.pictures, batch.target_in)
        return compute_cross_entropy(logits.float(), batch.target_out, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per token with the picture, without it and with a wrong picture.

        The wrong picture is that of the next example. If there are gold boxes, the share of words
        for which the best head points into a box is also measured.
        """
        examples = self.valid.examples["triple"][:1024]
        # A translator that ignores pictures has an equal loss with a wrong picture.
        turned = [*examples[1:], examples[0]]
        wrong = []
        for one, other in zip(examples, turned, strict=True):
            wrong.append(replace(one, picture=other.picture))
        loss = self._loss("triple", examples)
        losses = {
            "valid_loss": loss,
            "valid_loss_without": self._loss("text", examples),
            "valid_loss_wrong": self._loss("triple", wrong),
        }
        if not examples[0].boxes:
            return {**losses, "score": loss}
        pointing = self._measure_pointing(examples[:POINTED])
        return {**losses, "valid_pointing": pointing, "score": loss - WORTH * pointing}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        texts = self.train.pictures.about(self.network.encoder_config.kind)
        triples = self.valid.examples["triple"]
        pairs = encode_pairs(self.tokenizer, [(one.source, one.target) for one in triples])
        counts = {kind: f"{len(examples):,}" for kind, examples in self.train.examples.items()}
        return Description(
            family="doubly",
            title=TITLES[self.config.pictures],
            task="picture translation",
            level=LEVELS[self.config.pictures],
            mechanism=self.network.config.mechanism,
            trained_length=find_longest(
                self.tokenizer.ids(source) for source in self._list_sources()
            ),
            config=asdict(self.network.config),
            data={**texts.data, "examples": counts},
            limits=texts.translated,
            licence=texts.licence,
            recipe={
                "length_limit": compute_length_limit(pairs),
                "encoder": dict(self.train.pictures.encoder),
                "chosen_by": CHOICES[self.config.pictures],
            },
        )

    def _list_sources(self) -> set[str]:
        """Return the sources of all training pairs, with or without a picture."""
        return {one.source for kind in ("text", "triple") for one in self.train.examples[kind]}

    def _measure_pointing(self, examples: Sequence[Example]) -> float:
        """Return the share of words with boxes for which the best head points into a box."""
        areas = self.network.areas("picture").make_grid(0)
        right: dict[int, list[bool]] = {}
        for part, batch in self._batches("triple", examples, 0.0):
            run = self.network.attend(batch.source, batch.pictures, batch.target_in)
            sentences = [(one.target, one.boxes) for one in part]
            heads = torch.cat(run.weights[SITES["picture"]], 1).unbind(1)
            for head, weights_BTA in enumerate(heads):
                weights = weights_BTA.float().cpu().numpy()
                found = find_words_pointed_right(weights, areas, self.tokenizer, sentences)
                right.setdefault(head, []).extend(found)
        return max(float(np.mean(words)) for words in right.values())

    def _loss(self, kind: str, examples: Sequence[Example]) -> float:
        totals = []
        for _, batch in self._batches(kind, examples, self.config.hide):
            logits = self.network(batch.source, batch.pictures, batch.target_in)
            totals.append(sum_loss(logits, batch.target_out))
        return mean_loss(totals)

    def _batches(
        self, kind: str, examples: Sequence[Example], hide: float
    ) -> Iterator[tuple[Sequence[Example], PairBatch]]:
        """Yield validation examples in batches of 64."""
        for first in range(0, len(examples), 64):
            part = examples[first : first + 64]
            batch = self.valid.batch(kind, part, self.tokenizer, hide, None)
            yield part, batch.to(self.device)


TITLES = {"photos": "Translation with a photo", "scenes": "Translation with a shape scene"}
CHOICES = {
    "photos": "validation loss: no gold boxes are known for the German words",
    "scenes": f"{CHOSEN_BY} of the best head",
}
