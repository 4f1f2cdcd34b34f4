"""Training of translators on sentence pairs, with batches of similar length and label smoothing.

Shapes: B sentences, T target items, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.data.multi30k import Pair, read_split
from areaviz.models.base import TOKENIZER
from areaviz.models.generation import GENERATION_NETWORKS
from areaviz.models.network import GenerationNetwork
from areaviz.models.tokenizer import Batch, IdPair, Tokenizer, collate_pairs, group_by_length
from areaviz.training.about import read_training_texts
from areaviz.training.config import TrainConfig
from areaviz.training.loop import take_best
from areaviz.training.sentence_pairs import SampledPairs, read_made
from areaviz.training.sentences import (
    compute_cross_entropy,
    find_longest,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.training.task import Description, optimise_for_training


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationConfig(TrainConfig):
    """The recipe of a translator. Its `model` has further options of the network.

    Args:
        level: "character" or "token".
        vocabulary: Maximum number of tokens in the tokenizer.
        batch_tokens: Target tokens per batch, including padding.
        network: A key of `GENERATION_NETWORKS`.
        size: Size of a Transformer: "Tiny", "Small", "Base" or "Big". "" for other networks.
        max_length: Maximum number of tokens in a training sentence. Pairs with a longer sentence
            are left out.
        label_smoothing: Label smoothing for the next token, 0 to 1.
        source: Language of the sources.
        target: Language of the targets.
        made: Names of made pairs that are added to the training pairs, see `sentence_pairs`.
        sampling: Exponent of subword sampling, see `SampledPairs`. 0 turns sampling off and uses
            the most probable subwords.
        start_run: Name of the run whose best weights this run starts from, or "" for none.
    """

    level: str
    vocabulary: int
    batch_tokens: int
    network: str = "transformer"
    size: str = "Tiny"
    max_length: int = 1000
    label_smoothing: float = 0.1
    source: str = "en"
    target: str = "de"
    made: Sequence[str] = ()
    sampling: float = 0.0
    start_run: str = ""


@dataclass(slots=True)
class Translation:
    """The task: sentence pairs as ids, each with its end symbol."""

    Recipe: ClassVar[type[TrainConfig]] = TranslationConfig

    config: TranslationConfig
    tokenizer: Tokenizer
    network: GenerationNetwork
    train_pairs: Sequence[IdPair]
    valid_pairs: Sequence[IdPair]
    device: torch.device
    # The training pairs with all their segmentations, if subwords are sampled.
    sampled: SampledPairs | None = None

    @classmethod
    def build(
        cls, config: TranslationConfig, data: Path, folder: Path, device: torch.device
    ) -> Self:
        """Read the corpus from `data`, learn the run's tokenizer once and make the network."""
        train, valid = cls.read(config, data, "train"), cls.read(config, data, "val")
        learned, symbols = cls.texts(train)
        path = folder / TOKENIZER
        tokenizer = run_tokenizer(
            path, learned, config.vocabulary, config.level, symbols, start_run=config.start_run
        )
        # Train the tokenizer only on gold sentences, so that models with and without made pairs can
        # be compared.
        for name in config.made:
            train += read_made(folder.parent, name)
        pairs, texts = [], []
        for text, ids in zip(train, encode_pairs(tokenizer, train), strict=True):
            if max(map(len, ids)) <= config.max_length:
                texts.append(text)
                pairs.append(ids)
        sampled = SampledPairs.of(tokenizer, texts, config.sampling) if config.sampling else None
        torch.manual_seed(config.seed)
        build = GENERATION_NETWORKS[config.network][1]
        network = optimise_for_training(
            build(make_network_options(config, len(tokenizer))).to(device), device
        )
        if config.start_run:
            take_best(network, folder.parent / config.start_run, device)
        return cls(
            config, tokenizer, network, pairs, encode_pairs(tokenizer, valid), device, sampled
        )

    @classmethod
    def read(cls, config: TranslationConfig, data: Path, split: str) -> list[Pair]:
        """Return the sentence pairs of "train" or "val"."""
        return read_split(data, split, config.source, config.target)

    @classmethod
    def texts(cls, pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
        """Return the tokenizer's training texts, and the symbols that are never split."""
        return [text for pair in pairs for text in pair], []

    def batches(self, first_step: int) -> Iterator[Batch]:
        """Yield shuffled length buckets without end."""
        step, epoch = 0, 0
        while True:
            # The order depends only on the number of the epoch. A resumed run can therefore skip
            # the batches that were used before.
            seed = self.config.seed * 1_000_003 + epoch
            groups = group_by_length(self.train_pairs, self.config.batch_tokens, seed)
            for number, group in list(enumerate(groups))[max(0, first_step - step) :]:
                rng = np.random.default_rng((seed, number))
                yield collate_pairs([self._pair(index, rng) for index in group]).to(self.device)
            step, epoch = step + len(groups), epoch + 1

    def _pair(self, index: int, rng: np.random.Generator) -> IdPair:
        """Return a training pair, with sampled subwords if the recipe asks for them."""
        return self.sampled.draw(index, rng) if self.sampled else self.train_pairs[index]

    def loss(self, batch: Batch) -> Tensor:
        """Compute the cross-entropy of the next token with label smoothing, in nats."""
        logits_BTV = self.network(batch.source, batch.target_in)
        return compute_cross_entropy(
            logits_BTV.float(), batch.target_out, self.config.label_smoothing
        )

    def validate(self, step: int) -> dict[str, float]:
        """Measure the cross-entropy per token without label smoothing, in nats."""
        totals = []
        for group in group_by_length(self.valid_pairs, self.config.batch_tokens, seed=None):
            batch = collate_pairs([self.valid_pairs[i] for i in group]).to(self.device)
            totals.append(sum_loss(self.network(batch.source, batch.target_in), batch.target_out))
        loss = mean_loss(totals)
        return {"valid_loss": loss, "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        recipe, options = self.config, self.network.config
        size = f" ({recipe.size})" if recipe.size else ""
        made = f", and pairs that models made ({', '.join(recipe.made)})" if recipe.made else ""
        texts = read_training_texts("translation", made=made)
        return Description(
            family=recipe.network,
            title=f"{recipe.level.capitalize()}s, {options.about}{size}",
            task="translation",
            level=recipe.level,
            mechanism=options.mechanism,
            size=recipe.size,
            trained_length=find_longest(source for source, _ in self.train_pairs),
            config=asdict(options),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={
                "length_limit": compute_length_limit(self.valid_pairs),
                "chosen_by": "the last steps" if recipe.keep_average else "validation loss",
            },
        )


def make_network_options(config: TranslationConfig, vocabulary: int) -> Any:
    """Return the options of the network that a recipe describes.

    Raises:
        InputError: The size does not exist.
    """
    options = GENERATION_NETWORKS[config.network][0]
    if config.size:
        return options.from_size(config.size, vocabulary, **config.model)
    return options(vocabulary, **config.model)


def encode_pairs(tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[IdPair]:
    """Return sentence pairs as ids, each with its end symbol."""
    return [(tokenizer.ids(source), tokenizer.ids(target)) for source, target in pairs]


def compute_length_limit(pairs: Sequence[IdPair]) -> dict[str, Any]:
    """Return "ratio" and "extra", which limit the number of tokens in an output.

    No validation target is longer than ratio * source + extra.
    """
    source = np.array([len(one) for one, _ in pairs])
    target = np.array([len(one) for _, one in pairs])
    # The ratio is a quantile of 99 %, so that a single unusual pair cannot change it. `extra`
    # covers the remaining pairs.
    ratio = round(float(np.quantile(target / source, 0.99)), 2)
    return {"ratio": ratio, "extra": max(0, math.ceil((target - ratio * source).max()))}
