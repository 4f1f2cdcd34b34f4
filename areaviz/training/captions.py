"""Training of captioners on photos or shape scenes, from pixels or from finished features.

Shapes: B pictures, N captions, T words, M cells, C channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.data.batches import pad, shifted
from areaviz.data.tokenizer import Tokenizer
from areaviz.models.checkpoint import TOKENIZER
from areaviz.models.network import PictureNetwork
from areaviz.models.writers import WRITERS
from areaviz.trace.record import IntArray
from areaviz.training.captioned_pictures import CaptionedPictures, captioned_pictures, picture_side
from areaviz.training.config import TrainConfig
from areaviz.training.loop import take_best
from areaviz.training.sentences import (
    CHOSEN_BY,
    POINTED,
    WORTH,
    cross_entropy,
    mean_loss,
    pointed_right,
    run_tokenizer,
    total_loss,
)
from areaviz.training.show_attend_tell_loss import show_attend_tell_loss
from areaviz.training.task import Description, chance_by_step, fastest


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsConfig(TrainConfig):
    """The recipe of a captioner.

    Args:
        pictures: "photos" or "scenes".
        network: a key of `WRITERS`.
        batch: pictures an update.
        vocabulary: most words the tokenizer may have.
        encoder_run: name of the run whose picture encoder is taken over and left as it is; "" to
            learn one.
        start_run: name of a run whose best weights are the start; "" to start anew.
        label_smoothing: of the next word, 0..1.
        evenly: weight of the term that spreads attention evenly over the cells (Xu et al. 2015,
            Eq. 14).
        entropy: weight of the term that keeps hard choices open.
    """

    pictures: str
    network: str = "captioner"
    batch: int = 32
    vocabulary: int = 3000
    encoder_run: str = ""
    start_run: str = ""
    label_smoothing: float = 0.1
    evenly: float = 1.0
    entropy: float = 0.01


@dataclass(slots=True)
class Captions:
    """The task: pictures, or what a finished encoder makes of them, and captions."""

    Recipe: ClassVar[type[TrainConfig]] = CaptionsConfig

    config: CaptionsConfig
    network: PictureNetwork
    tokenizer: Tokenizer
    train: CaptionedPictures
    valid: CaptionedPictures
    device: torch.device

    @classmethod
    def build(cls, config: CaptionsConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read or generate the pictures, learn the words, and make the network."""
        side = picture_side(config.model)
        runs = folder.parent
        train = captioned_pictures(config.pictures, "train", data, runs, side)
        valid = captioned_pictures(config.pictures, "val", data, runs, side)
        tokenizer = run_tokenizer(folder / TOKENIZER, train.texts(), config.vocabulary)
        torch.manual_seed(config.seed)
        options, make = WRITERS[config.network]
        network = make(options(len(tokenizer), **config.model))
        assert isinstance(network, PictureNetwork)
        network = fastest(network.to(device), device)
        # A finished encoder runs once over all pictures, here, and not in every update.
        if config.encoder_run:
            run = runs / config.encoder_run
            train = train.encoded(network.pictures, run, device)
            valid = valid.encoded(network.pictures, run, device)
        if config.start_run:
            take_best(network, runs / config.start_run, device)
        return cls(config, network, tokenizer, train, valid, device)

    def batches(self, first_step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Pictures and their captions, equally many each, for ever."""
        for rng in chance_by_step(self.config.seed, first_step):
            # Sorted, because pictures lie in one large file.
            chosen = np.sort(rng.choice(len(self.train), self.config.batch, replace=False))
            captions = self.train.ids(self.tokenizer, chosen)
            yield self.train.look(chosen, rng).to(self.device), captions.to(self.device)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """The network's own loss, or cross-entropy of the next word in nats."""
        pictures, captions_NT = batch
        loss = OWN_LOSSES.get(self.config.network, word_loss)
        return loss(self.network, self._features(pictures), captions_NT, self.config)

    def validate(self, step: int) -> dict[str, float]:
        """Cross-entropy a word, and how often attention points right over the gold boxes."""
        totals, right = [], []
        for first in range(0, len(self.valid), self.config.batch):
            chosen = np.arange(first, min(first + self.config.batch, len(self.valid)))
            features = self._features(self.valid.look(chosen, None).to(self.device))
            captions = self.valid.ids(self.tokenizer, chosen).to(self.device)
            totals.append(total_loss(self.network(features, shifted(captions)), captions))
            if first < POINTED:
                right += self._points(features[: POINTED - first], chosen[: POINTED - first])
        loss = mean_loss(totals)
        if not right:
            return {"valid_loss": loss, "score": loss}
        pointing = float(np.mean(right))
        return {"valid_loss": loss, "valid_pointing": pointing, "score": loss - WORTH * pointing}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """The task's part of the card."""
        config, about = self.network.config, self.train.about
        # A network without attention points at nothing.
        chosen_by = CHOSEN_BY if config.layers else "validation loss"
        return Description(
            family=self.config.network,
            title=f"{about.title}, {config.about}",
            task="caption",
            level="word",
            mechanism=config.mechanism,
            trained_length=max(len(text.split()) for text in self.train.texts()),
            config=asdict(config),
            data=about.data,
            limits=about.limits_of(self.network.encoder_config.kind),
            licence=about.licence,
            recipe={"chosen_by": chosen_by, "encoder": dict(self.train.encoder)},
        )

    def _features(self, pictures: Tensor) -> Tensor:
        """Features of pixels; features stay what they are."""
        return self.network.look(pictures) if pictures.dtype == torch.uint8 else pictures.float()

    def _points(self, features_BMC: Tensor, chosen: IntArray) -> list[bool]:
        """Whether the attention of each boxed word of a picture's first caption lies on its box."""
        config = self.network.config
        if not config.layers:
            return []
        grounded = [self.valid.grounded[index][0] for index in chosen.tolist()]
        captions = pad([self.tokenizer.ids(sentence.text) for sentence in grounded]).to(self.device)
        run = self.network.attend(features_BMC, shifted(captions))
        areas = config.areas(config.layers - 1).grid(features_BMC.shape[1])
        weights_BQA = run.weights["encoder-decoder"][-1].mean(1).cpu().numpy()
        sentences = [(sentence.text, sentence.boxes) for sentence in grounded]
        return pointed_right(weights_BQA, areas, self.tokenizer, sentences)


def word_loss(
    network: Any, features_BMC: Tensor, captions_NT: Tensor, config: CaptionsConfig
) -> Tensor:
    """Cross-entropy of the next word with label smoothing."""
    logits_NTV = network(features_BMC, shifted(captions_NT)).float()
    return cross_entropy(logits_NTV, captions_NT, config.label_smoothing)


OWN_LOSSES: Mapping[str, Callable[[Any, Tensor, Tensor, CaptionsConfig], Tensor]] = {
    "teller": show_attend_tell_loss,
}
"""The losses of the networks that learn from more than the next word."""
