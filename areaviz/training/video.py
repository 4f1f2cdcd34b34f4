"""Training of watchers: clips of moving digits, drawn anew for every batch.

Shapes: B clips, F frames, S side in pixels, T words, V vocabulary, A areas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.data.batches import pad, shifted
from areaviz.data.moving_digits import (
    ACTIONS,
    DIGITS,
    FUNCTION_WORDS,
    DigitBank,
    MovingDigit,
    moving_digits,
)
from areaviz.data.tokenizer import Tokenizer
from areaviz.models.checkpoint import TOKENIZER
from areaviz.models.watcher import Watcher, WatcherConfig
from areaviz.training.config import TrainConfig
from areaviz.training.sentences import cross_entropy, mean_loss, run_tokenizer, total_loss
from areaviz.training.task import Description, chance_by_step, fastest

EACH, EACH_HELD_OUT = 400, 100
"""Drawn digits of every kind in training, and of validation and test."""
TRAIN_SEED, VALID_SEED = 11, 12
VALIDATED = 512
"""Clips of a validation, always the same."""

DATA = {
    "name": "Clips of a digit that does two things, one after the other; generated",
    "train": f"clips of {EACH * len(DIGITS):,} drawn digits, drawn anew for every batch",
    "valid": f"{VALIDATED} clips of {EACH_HELD_OUT * len(DIGITS):,} other digits, used to choose"
    " the checkpoint",
    "test": "1,000 clips of further digits",
    "licence": "drawn by this repository's own code, free of rights",
}
LICENCE = "Apache-2.0"
LIMITS = (
    "Knows drawn digits that move, turn, grow or shrink, and nothing else: of any other clip it"
    " says the same kind of sentence."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoConfig(TrainConfig):
    """The recipe of a watcher.

    Args:
        batch: clips an update.
        label_smoothing: of the next word, 0..1.
    """

    batch: int = 32
    label_smoothing: float = 0.05


@dataclass(slots=True)
class Video:
    """The task: clips, and what happens in them."""

    Recipe: ClassVar[type[TrainConfig]] = VideoConfig

    config: VideoConfig
    tokenizer: Tokenizer
    network: Watcher
    bank: DigitBank
    valid: Sequence[MovingDigit]
    device: torch.device

    @classmethod
    def build(cls, config: VideoConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Draw the digits and the clips of validation, and make the network."""
        held_out = DigitBank(EACH_HELD_OUT, VALID_SEED)
        valid = moving_digits(held_out, np.random.default_rng(VALID_SEED), VALIDATED)
        tokenizer = run_tokenizer(folder / TOKENIZER, _sentences(), 40)
        torch.manual_seed(config.seed)
        network = Watcher(WatcherConfig(len(tokenizer), **config.model)).to(device)
        bank = DigitBank(EACH, TRAIN_SEED)
        return cls(config, tokenizer, fastest(network, device), bank, valid, device)

    def batches(self, first_step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """New clips for ever."""
        for rng in chance_by_step(self.config.seed, first_step):
            yield self.batch(moving_digits(self.bank, rng, self.config.batch))

    def batch(self, clips: Sequence[MovingDigit]) -> tuple[Tensor, Tensor]:
        """Frames uint8 [B, F, S, S] and the words of what happens [B, T]."""
        frames_BFSS = torch.from_numpy(np.stack([one.frames for one in clips]))
        ids_BT = pad([self.tokenizer.ids(one.text) for one in clips])
        return frames_BFSS.to(self.device), ids_BT.to(self.device)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Cross-entropy of the next word with label smoothing, in nats."""
        frames_BFSS, ids_BT = batch
        logits_BTV = self.network.attend(frames_BFSS, shifted(ids_BT), need_weights=False).logits
        return cross_entropy(logits_BTV, ids_BT, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Cross-entropy a word in nats, and the share of telling words that would be chosen."""
        totals, right = [], []
        for first in range(0, len(self.valid), self.config.batch):
            clips = self.valid[first : first + self.config.batch]
            frames_BFSS, ids_BT = self.batch(clips)
            logits_BTV = self.network.attend(frames_BFSS, shifted(ids_BT), False).logits
            totals.append(total_loss(logits_BTV, ids_BT))
            for chosen_T, clip in zip(logits_BTV.argmax(2).tolist(), clips, strict=True):
                wanted = self.tokenizer.ids(clip.text)
                for place, word in enumerate(clip.text.split()):
                    if word not in FUNCTION_WORDS:
                        right.append(chosen_T[place] == wanted[place])
        loss = mean_loss(totals)
        return {"valid_loss": loss, "valid_words": float(np.mean(right)), "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """The task's part of the card."""
        options = self.network.config
        return Description(
            family="watcher",
            title=f"Clips, {options.about}",
            task="video",
            level="word",
            mechanism=options.mechanism if options.attends else "none",
            trained_length=options.frames,
            config=asdict(options),
            data=DATA,
            limits=LIMITS,
            licence=LICENCE,
            recipe={"chosen_by": "validation loss"},
        )


def _sentences() -> Iterator[str]:
    """Every sentence there is, in the order of the words."""
    for digit in DIGITS:
        for first in ACTIONS:
            for second in ACTIONS:
                if first != second:
                    yield f"the {digit} {first} and then {second}"
