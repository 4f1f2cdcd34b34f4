"""Training of captioners, on photos or shape scenes, from pixels or from what a finished encoder
makes of them.

Shapes: B pictures, N captions, T words, M cells, C channels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.data.batches import pad, shifted
from areaviz.data.tokenizer import Tokenizer
from areaviz.models.caption_network import CaptionNetwork
from areaviz.models.captioning import NETWORKS
from areaviz.models.checkpoint import TOKENIZER
from areaviz.trace.record import IntArray
from areaviz.training.captioned_pictures import Described, described, picture_side
from areaviz.training.config import TrainConfig
from areaviz.training.loop import take_best
from areaviz.training.pointing import CHOSEN_BY, POINTED, WORTH, right_words
from areaviz.training.sentences import cross_entropy, mean_loss, run_tokenizer, total_loss
from areaviz.training.show_attend_tell_loss import telling_loss
from areaviz.training.speed import fastest
from areaviz.training.task import Description


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsConfig(TrainConfig):
    """The recipe of a captioner.

    network: a key of `NETWORKS`. pictures: "photos" or "scenes". batch: pictures an update.
    vocabulary: most words the tokenizer may have. encoder_run: name of the run whose picture
    encoder is taken over and left as it is; "" to learn one. start_run: name of a run whose best
    weights are the start; "" to start anew. evenly: weight of the wish that every cell is attended
    to as much (Xu et al. 2015, Eq. 14). entropy: weight of the wish that a hard choice stays open.
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

    config: CaptionsConfig
    network: CaptionNetwork
    tokenizer: Tokenizer
    train: Described
    valid: Described
    device: torch.device

    @classmethod
    def build(cls, config: CaptionsConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read or generate the pictures, learn the words, and make the network."""
        side = picture_side(config.model)
        train, valid = (
            described(config.pictures, split, data, folder.parent, side)
            for split in ("train", "val")
        )
        tokenizer = run_tokenizer(folder / TOKENIZER, train.texts(), config.vocabulary)
        torch.manual_seed(config.seed)
        options, make = NETWORKS[config.network]
        network = fastest(make(options(len(tokenizer), **config.model)).to(device), device)
        if config.encoder_run:
            train, valid = (
                one.encoded(network.pictures, folder.parent / config.encoder_run, device)
                for one in (train, valid)
            )
        if config.start_run:
            take_best(network, folder.parent / config.start_run, device)
        return cls(config, network, tokenizer, train, valid, device)

    def batches(self, first_step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Pictures and their captions, equally many each, for ever."""
        step = first_step
        while True:
            rng = np.random.default_rng((self.config.seed, step))
            chosen = np.sort(rng.choice(len(self.train), self.config.batch, replace=False))
            captions = pad(
                [
                    self.tokenizer.ids(text)
                    for i in chosen.tolist()
                    for text in self.train.captions[i]
                ]
            )
            yield self.train.look(chosen, rng).to(self.device), captions.to(self.device)
            step += 1

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Cross-entropy of the next word with label smoothing, in nats, and what the network wishes
        besides.
        """
        pictures, captions_NT = batch
        return LOSSES[self.config.network](
            self.network, self._features(pictures), captions_NT, self.config
        )

    def validate(self, step: int) -> dict[str, float]:
        """Cross-entropy a word and, over the gold boxes, how often the caption's attention points
        right.
        """
        totals, right = [], []
        for first in range(0, len(self.valid), self.config.batch):
            chosen = np.arange(first, min(first + self.config.batch, len(self.valid)))
            features = self._features(self.valid.look(chosen, None).to(self.device))
            captions = pad(
                [
                    self.tokenizer.ids(text)
                    for i in chosen.tolist()
                    for text in self.valid.captions[i]
                ]
            )
            captions = captions.to(self.device)
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
        chosen_by = CHOSEN_BY if config.layers else "validation loss"
        return Description(
            family=self.config.network,
            title=f"{about.title}, {config.about}",
            task="caption",
            level="word",
            mechanism=config.mechanism,
            size="",
            trained_length=max(len(text.split()) for text in self.train.texts()),
            config=asdict(config),
            data=about.data,
            limits=about.limits_of(self.network.encoder_config.kind),
            licence=about.licence,
            recipe={"chosen by": chosen_by, "encoder": dict(self.train.encoder)},
        )

    def _features(self, pictures: Tensor) -> Tensor:
        """Features of pixels; features stay what they are."""
        return self.network.look(pictures) if pictures.dtype == torch.uint8 else pictures.float()

    def _points(self, features_BMC: Tensor, chosen: IntArray) -> list[bool]:
        """For the first grounded caption of each picture: whether each boxed word's attention lies
        on its box.
        """
        if not self.network.config.layers:
            return []
        grounded = [self.valid.grounded[i][0] for i in chosen.tolist()]
        captions = pad([self.tokenizer.ids(sentence.text) for sentence in grounded]).to(self.device)
        run = self.network.attend(features_BMC, shifted(captions))
        areas = self.network.config.areas(self.network.config.layers - 1).grid(
            features_BMC.shape[1]
        )
        weights_BQA = run.weights["encoder-decoder"][-1].mean(1).cpu().numpy()
        told = [(sentence.text, sentence.boxes) for sentence in grounded]
        return right_words(weights_BQA, areas, self.tokenizer, told)


def plain_loss(
    network: Any, features_BMC: Tensor, captions_NT: Tensor, config: CaptionsConfig
) -> Tensor:
    """Cross-entropy of the next word with label smoothing."""
    return cross_entropy(
        network(features_BMC, shifted(captions_NT)).float(), captions_NT, config.label_smoothing
    )


LOSSES: Mapping[str, Callable[[Any, Tensor, Tensor, CaptionsConfig], Tensor]] = {
    "captioner": plain_loss,
    "teller": telling_loss,
}
"""What each network of `models.captioning.NETWORKS` learns from."""
