"""Training of language models on captions. They predict each next token of a caption.

Shapes: B captions, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import Tensor

from areaviz.data.multi30k import read_captions
from areaviz.models.base import TOKENIZER
from areaviz.models.generation import GENERATION_NETWORKS
from areaviz.models.network import GenerationNetwork
from areaviz.models.tokenizer import Tokenizer, group_by_length, pad_rows, shift_targets
from areaviz.training.about import read_training_texts
from areaviz.training.config import TrainConfig
from areaviz.training.sentences import (
    compute_cross_entropy,
    find_longest,
    mean_loss,
    run_tokenizer,
    sum_loss,
)
from areaviz.training.task import Description, optimise_for_training


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingConfig(TrainConfig):
    """The recipe of a language model. Its `model` has the options of the network.

    Args:
        vocabulary: Maximum number of tokens in the tokenizer.
        batch_tokens: Tokens per batch, including padding.
        level: Level of the tokenizer: "character", "token" or "word".
        network: A key of `GENERATION_NETWORKS`, of a network without inputs.
    """

    vocabulary: int
    batch_tokens: int
    level: str = "token"
    network: str = "text decoder"


@dataclass(slots=True)
class LanguageModelTask:
    """The task: captions as ids, each with its end symbol."""

    Recipe: ClassVar[type[TrainConfig]] = ReadingConfig

    config: ReadingConfig
    tokenizer: Tokenizer
    network: GenerationNetwork
    train_rows: Sequence[list[int]]
    valid_rows: Sequence[list[int]]
    device: torch.device

    @classmethod
    def build(cls, config: ReadingConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read the corpus from `data`, learn the run's tokenizer once and make the network."""
        train, valid = read_captions(data, "train"), read_captions(data, "val")
        tokenizer = run_tokenizer(folder / TOKENIZER, train, config.vocabulary, config.level)
        torch.manual_seed(config.seed)
        options, make = GENERATION_NETWORKS[config.network]
        made = make(options(len(tokenizer), **config.model))
        network = optimise_for_training(made.to(device), device)
        train_rows = [tokenizer.ids(text) for text in train]
        valid_rows = [tokenizer.ids(text) for text in valid]
        return cls(config, tokenizer, network, train_rows, valid_rows, device)

    def batches(self, first_step: int) -> Iterator[Tensor]:
        """Yield shuffled length buckets [B, T] without end."""
        step, epoch = 0, 0
        while True:
            # The order depends only on the number of the epoch. A resumed run can therefore skip
            # the batches that were used before.
            groups = self._groups(self.train_rows, self.config.seed * 1_000_003 + epoch)
            for group in groups[max(0, first_step - step) :]:
                yield pad_rows([self.train_rows[i] for i in group]).to(self.device)
            step, epoch = step + len(groups), epoch + 1

    def loss(self, batch: Tensor) -> Tensor:
        """Compute the cross-entropy of the next token, in nats."""
        return compute_cross_entropy(self.network(shift_targets(batch)).float(), batch)

    def validate(self, step: int) -> dict[str, float]:
        """Measure the cross-entropy per token, in nats."""
        totals = []
        for group in self._groups(self.valid_rows, None):
            batch_BT = pad_rows([self.valid_rows[i] for i in group]).to(self.device)
            totals.append(sum_loss(self.network(shift_targets(batch_BT)), batch_BT))
        loss = mean_loss(totals)
        return {"valid_loss": loss, "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        options, texts = self.network.config, read_training_texts("reading")
        return Description(
            family=self.config.network,
            title=f"Language model, {options.about}",
            task="reading",
            level=self.config.level,
            mechanism=options.mechanism,
            trained_length=find_longest(self.train_rows),
            config=asdict(options),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={"chosen_by": "validation loss", "source": "en"},
        )

    def _groups(self, rows: Sequence[list[int]], seed: int | None) -> list[list[int]]:
        return group_by_length([(row, row) for row in rows], self.config.batch_tokens, seed)
