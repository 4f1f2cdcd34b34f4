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

from areaviz.models.base import TOKENIZER
from areaviz.models.captions import CaptionTransformer
from areaviz.models.generation import GENERATION_NETWORKS
from areaviz.models.network import PictureNetwork
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets
from areaviz.trace.areas import AreaGrid, IntArray
from areaviz.trace.errors import InputError
from areaviz.training.attention_supervision import AttentionTargets, compute_told_caption_loss
from areaviz.training.captioned_pictures import (
    VIEWS,
    CaptionedPictures,
    get_picture_side,
    read_captioned_pictures,
)
from areaviz.training.config import TrainConfig
from areaviz.training.loop import take_best
from areaviz.training.sentences import (
    CHOSEN_BY,
    POINTED,
    WORTH,
    compute_cross_entropy,
    find_words_pointed_right,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.training.show_attend_tell_loss import show_attend_tell_loss
from areaviz.training.task import Description, optimise_for_training, step_generators


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionsConfig(TrainConfig):
    """The recipe of a captioner.

    Args:
        pictures: "photos" or "scenes".
        network: A key of `GENERATION_NETWORKS`.
        batch: Pictures per update.
        vocabulary: Largest number of words in the tokenizer.
        encoder_run: Name of the run whose picture encoder is loaded and frozen, or "" to train an
            encoder.
        views: Number of versions of each training photo that the finished encoder encodes.
        start_run: Name of the run whose best weights this run starts from, or "" for none.
        label_smoothing: Label smoothing for the next word, 0 to 1.
        evenly: Weight of the term that spreads attention evenly over the cells (Xu et al. 2015, Eq.
            14).
        entropy: Weight of the entropy of hard attention. It keeps the choices of cells varied.
        captions_each: Captions per picture in an update. 0 uses all of them.
        any_true: Whether a scene is trained with all its `clear_sentences` instead of only its own.
        told: Weight of the loss that supervises attention with gold boxes, see `told_attention`. 0
            turns it off.
        told_head: Layer and number of the supervised head, counted from 0.
    """

    pictures: str
    network: str = "captioner"
    batch: int = 32
    vocabulary: int = 3000
    encoder_run: str = ""
    start_run: str = ""
    views: int = VIEWS
    label_smoothing: float = 0.1
    evenly: float = 1.0
    entropy: float = 0.01
    captions_each: int = 0
    any_true: bool = False
    told: float = 0.0
    told_head: tuple[int, int] = (1, 0)


@dataclass(frozen=True, slots=True)
class CaptionBatch:
    """A batch of pictures with the same number of captions for each."""

    # Pixels or features.
    pictures: Tensor
    # Token ids [N, T], in the order of the pictures.
    captions: Tensor
    # The areas to which each word should attend, or None if attention is not supervised.
    told: AttentionTargets | None = None


@dataclass(slots=True)
class Captions:
    """The captioning task: pictures, or features of a finished encoder, and their captions."""

    Recipe: ClassVar[type[TrainConfig]] = CaptionsConfig

    config: CaptionsConfig
    network: PictureNetwork
    tokenizer: Tokenizer
    train: CaptionedPictures
    valid: CaptionedPictures
    device: torch.device

    @classmethod
    def build(cls, config: CaptionsConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read or generate the pictures, build the vocabulary and make the network."""
        side = get_picture_side(config.model)
        runs = folder.parent
        train = read_captioned_pictures(config.pictures, "train", data, runs, side, config.any_true)
        valid = read_captioned_pictures(config.pictures, "val", data, runs, side)
        _check_told(config)
        tokenizer = run_tokenizer(
            folder / TOKENIZER, train.texts(), config.vocabulary, start_run=config.start_run
        )
        torch.manual_seed(config.seed)
        options, make = GENERATION_NETWORKS[config.network]
        network = make(options(len(tokenizer), **config.model))
        assert isinstance(network, PictureNetwork)
        network = optimise_for_training(network.to(device), device)
        # A finished encoder encodes all pictures once here instead of in every update.
        if config.encoder_run:
            run = runs / config.encoder_run
            train = train.encoded(network.pictures, run, device, config.views)
            valid = valid.encoded(network.pictures, run, device)
        if config.start_run:
            take_best(network, runs / config.start_run, device)
        return cls(config, network, tokenizer, train, valid, device)

    def batches(self, first_step: int) -> Iterator[CaptionBatch]:
        """Yield batches without end, with the same number of captions for each picture."""
        for rng in step_generators(self.config.seed, first_step):
            # Sort the indices, because all pictures are in one large file.
            chosen = np.sort(rng.choice(len(self.train), self.config.batch, replace=False))
            if self.config.told or self.config.captions_each:
                yield self._drawn(chosen, rng)
            else:
                captions = self.train.ids(self.tokenizer, chosen).to(self.device)
                yield CaptionBatch(self.train.look(chosen, rng).to(self.device), captions)

    def _drawn(self, chosen: IntArray, rng: np.random.Generator) -> CaptionBatch:
        """Draw sentences for the chosen pictures, with attention targets if needed."""
        sentences = self.train.sentences(chosen, self.config.captions_each, rng)
        views = self.train.draw_views(len(chosen), rng)
        said = [sentence for some in sentences for sentence in some]
        captions = pad_rows([self.tokenizer.ids(sentence.text) for sentence in said])
        told = None
        if self.config.told:
            grounded = []
            for index, view, some in zip(chosen.tolist(), views.tolist(), sentences, strict=True):
                grounded += [self.train.seen(index, view, sentence) for sentence in some]
            told = AttentionTargets.of(grounded, self.tokenizer, self._told_grid()).to(self.device)
        pictures = self.train.look_at(chosen, views).to(self.device)
        return CaptionBatch(pictures, captions.to(self.device), told)

    def _told_grid(self) -> AreaGrid:
        layer, _ = self.config.told_head
        return self.network.config.areas(layer).make_grid(self.network.grid**2)

    def loss(self, batch: CaptionBatch) -> Tensor:
        """Compute the loss of a batch.

        This is the network's own loss, or cross-entropy of the next word in nats. If attention is
        supervised, its weighted loss is added.
        """
        features = self._features(batch.pictures)
        if batch.told is not None:
            assert isinstance(self.network, CaptionTransformer)
            layer, head = self.config.told_head
            words, told = compute_told_caption_loss(
                self.network,
                features,
                batch.captions,
                batch.told,
                (layer, head),
                self.config.label_smoothing,
            )
            return words + self.config.told * told
        loss = OWN_LOSSES.get(self.config.network, compute_word_loss)
        return loss(self.network, features, batch.captions, self.config)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per word, and how often attention points into the gold boxes."""
        totals, right = [], []
        for first in range(0, len(self.valid), self.config.batch):
            chosen = np.arange(first, min(first + self.config.batch, len(self.valid)))
            features = self._features(self.valid.look(chosen, None).to(self.device))
            captions = self.valid.ids(self.tokenizer, chosen).to(self.device)
            totals.append(sum_loss(self.network(features, shift_targets(captions)), captions))
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
        """Return the task's part of the model card."""
        config = self.network.config
        texts = self.train.about(self.network.encoder_config.kind)
        # A network without attention cannot point, so only its loss counts.
        chosen_by = CHOSEN_BY if config.layers else "validation loss"
        return Description(
            family=self.config.network,
            title=f"{texts.title}, {config.about}{TOLD if self.config.told else ''}",
            task="caption",
            level="word",
            mechanism=config.mechanism,
            trained_length=max(len(text.split()) for text in self.train.texts()),
            config=asdict(config),
            data=texts.data,
            limits=texts.limits + self._about_told(),
            licence=texts.licence,
            recipe={"chosen_by": chosen_by, "encoder": dict(self.train.encoder)},
        )

    def _about_told(self) -> str:
        """Return the card's sentence about a head with supervised attention, or "" without one."""
        if not self.config.told:
            return ""
        layer, head = self.config.told_head
        return (
            f" Head {head + 1} of layer {layer + 1} was told where to look: gold boxes taught it,"
            " so its maps show what it was taught."
        )

    def _features(self, pictures: Tensor) -> Tensor:
        """Return features [B, M, C] in float32, from pixels or from finished features."""
        return (
            self.network.encode_pictures(pictures)
            if pictures.dtype == torch.uint8
            else pictures.float()
        )

    def _points(self, features_BMC: Tensor, chosen: IntArray) -> list[bool]:
        """Return whether attention points into the box of each boxed word in the first captions."""
        config = self.network.config
        if not config.layers:
            return []
        grounded = [self.valid.grounded[index][0] for index in chosen.tolist()]
        captions = pad_rows([self.tokenizer.ids(sentence.text) for sentence in grounded]).to(
            self.device
        )
        run = self.network.attend(features_BMC, shift_targets(captions))
        layer, heads = config.layers - 1, slice(None)
        if self.config.told:
            layer, told = self.config.told_head
            heads = slice(told, told + 1)
        areas = config.areas(layer).make_grid(features_BMC.shape[1])
        weights_BQA = run.weights["encoder-decoder"][layer][:, heads].mean(1).cpu().numpy()
        sentences = [(sentence.text, sentence.boxes) for sentence in grounded]
        return find_words_pointed_right(weights_BQA, areas, self.tokenizer, sentences)


def _check_told(config: CaptionsConfig) -> None:
    """Check that the recipe can supervise attention.

    Raises:
        InputError: The network does not support it, or the photos change with every update.
    """
    if not config.told:
        return
    if config.network != "captioner":
        raise InputError(
            f'The recipe "{config.name}" trains attention with gold boxes (told ='
            f' {config.told}). Only the network "captioner" supports that. Leave told out.'
        )
    if config.pictures == "photos" and not config.encoder_run:
        raise InputError(
            f'The recipe "{config.name}" trains attention with gold boxes on photos that'
            " change with every update. Give an encoder_run, whose views of a photo are"
            " fixed."
        )


def compute_word_loss(
    network: Any, features_BMC: Tensor, captions_NT: Tensor, config: CaptionsConfig
) -> Tensor:
    """Compute the cross-entropy of the next word with label smoothing."""
    logits_NTV = network(features_BMC, shift_targets(captions_NT)).float()
    return compute_cross_entropy(logits_NTV, captions_NT, config.label_smoothing)


TOLD = ", told where to look"
"""Suffix for the title of a model whose attention was supervised with boxes."""

OWN_LOSSES: Mapping[str, Callable[[Any, Tensor, Tensor, CaptionsConfig], Tensor]] = {
    "teller": show_attend_tell_loss,
}
"""Losses of networks that need another loss than the cross-entropy of the next word."""
