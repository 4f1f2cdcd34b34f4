"""Training of translators: pairs of sentences in length buckets, cross-entropy with label
smoothing.

Shapes: B sentences, T target items, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.data.batches import Batch, IdPair, buckets, collate
from areaviz.data.multi30k import Pair, read_split
from areaviz.data.tokenizer import Tokenizer
from areaviz.models.checkpoint import TOKENIZER
from areaviz.models.transformer import Transformer, TransformerConfig
from areaviz.training.config import TrainConfig
from areaviz.training.sentences import cross_entropy, longest, mean_loss, run_tokenizer, total_loss
from areaviz.training.speed import fastest
from areaviz.training.task import Description

DATA = {
    "name": "Multi30k task 1 (Elliott et al. 2016), English to German",
    "train": "29,000 sentence pairs",
    "valid": "1,014 pairs, used to choose the checkpoint and the length limit",
    "test": "test_2016_flickr and test_2017_flickr, 1,000 pairs each, read once",
    "licence": "research and education only; the corpus is not part of this repository",
}
LICENCE = (
    "Apache-2.0 for the weights file; trained on Multi30k, which is for research and education only"
)
LIMITS = (
    "Trained on short English captions of photographs alone: on any other text it invents. "
    "Attention shows where a head looks, not why the model decides."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationConfig(TrainConfig):
    """The recipe of a translation model.

    level: "character" or "token". size: "Tiny", "Small", "Base" or "Big". vocabulary: most tokens
    the tokenizer may have. batch_tokens: padded target tokens a batch. max_length: longer sentences
    (in tokens) are left out of training. model: further options of `TransformerConfig`.
    """

    level: str
    vocabulary: int
    batch_tokens: int
    size: str = "Tiny"
    max_length: int = 1000
    label_smoothing: float = 0.1
    source: str = "en"
    target: str = "de"


@dataclass(slots=True)
class Translation:
    """The task: sentence pairs as ids, each with its end symbol."""

    config: TranslationConfig
    tokenizer: Tokenizer
    network: Transformer
    train_pairs: Sequence[IdPair]
    valid_pairs: Sequence[IdPair]
    device: torch.device

    @classmethod
    def build(
        cls, config: TranslationConfig, data: Path, folder: Path, device: torch.device
    ) -> Self:
        """Read the corpus in `data`, learn the run's tokenizer once, and make the network."""
        pairs = {
            split: read_split(data, split, config.source, config.target)
            for split in ("train", "val")
        }
        sentences = (text for pair in pairs["train"] for text in pair)
        tokenizer = run_tokenizer(folder / TOKENIZER, sentences, config.vocabulary, config.level)
        train_pairs = [
            pair
            for pair in encode(tokenizer, pairs["train"])
            if max(map(len, pair)) <= config.max_length
        ]
        torch.manual_seed(config.seed)
        network = fastest(Transformer(model_config(config, tokenizer)).to(device), device)
        return cls(config, tokenizer, network, train_pairs, encode(tokenizer, pairs["val"]), device)

    def batches(self, first_step: int) -> Iterator[Batch]:
        """Shuffled length buckets for ever."""
        step, epoch = 0, 0
        while True:
            seed = self.config.seed * 1_000_003 + epoch
            groups = buckets(self.train_pairs, self.config.batch_tokens, seed)
            for group in groups[max(0, first_step - step) :]:
                yield collate([self.train_pairs[i] for i in group]).to(self.device)
            step, epoch = step + len(groups), epoch + 1

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy of the next token with label smoothing, in nats."""
        logits_BTV = self.network(batch.source, batch.target_in)
        return cross_entropy(logits_BTV.float(), batch.target_out, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Cross-entropy a token without label smoothing, in nats."""
        totals = []
        for group in buckets(self.valid_pairs, self.config.batch_tokens, seed=None):
            batch = collate([self.valid_pairs[i] for i in group]).to(self.device)
            totals.append(total_loss(self.network(batch.source, batch.target_in), batch.target_out))
        loss = mean_loss(totals)
        return {"valid_loss": loss, "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """The task's part of the card."""
        areas = self.network.config.area_size
        attention = f"areas up to {areas}" if areas > 1 else "regular attention"
        return Description(
            family="transformer",
            title=f"{self.config.level.capitalize()}s, {attention} ({self.config.size})",
            task="translation",
            level=self.config.level,
            mechanism="area" if areas > 1 else "regular",
            size=self.config.size,
            trained_length=longest(source for source, _ in self.train_pairs),
            config=asdict(self.network.config),
            data=DATA,
            limits=LIMITS,
            licence=LICENCE,
            recipe={"length_limit": length_limit(self.valid_pairs), "chosen by": "validation loss"},
        )


def model_config(config: TranslationConfig, tokenizer: Tokenizer) -> TransformerConfig:
    """The network a recipe describes; InputError for a size that does not exist."""
    return TransformerConfig.sized(config.size, len(tokenizer), **config.model)


def encode(tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[IdPair]:
    """Sentence pairs as ids, each with its end symbol."""
    return [(tokenizer.ids(source), tokenizer.ids(target)) for source, target in pairs]


def length_limit(pairs: Sequence[IdPair]) -> dict[str, Any]:
    """Ratio and extra items such that no validation target is longer than ratio *
    source + extra.
    """
    lengths = np.array([(len(source), len(target)) for source, target in pairs])
    ratio = round(float(np.quantile(lengths[:, 1] / lengths[:, 0], 0.99)), 2)
    return {
        "ratio": ratio,
        "extra": max(0, math.ceil((lengths[:, 1] - ratio * lengths[:, 0]).max())),
    }
