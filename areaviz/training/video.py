"""Training of video captioners, called watchers, on clips and sentences that describe them.

Shapes: B clips, F frames, S side in pixels, T words, V vocabulary. Clips in colour are [B, F, S, S,
3].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from areaviz.models.base import TOKENIZER
from areaviz.models.clips import VideoCaptioner, WatcherConfig
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets
from areaviz.trace.errors import check_choice
from areaviz.training.config import TrainConfig
from areaviz.training.sentences import compute_cross_entropy, mean_loss, run_tokenizer, sum_loss
from areaviz.training.task import Description, optimise_for_training, step_generators
from areaviz.training.training_clips import CLIPS, Clips, TrainingClip

LARGEST_VOCABULARY = 400
"""Maximum number of words in the vocabulary. No kind of clips has so many words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoConfig(TrainConfig):
    """The recipe of a watcher.

    Args:
        clips: Kind of clips, a key of `CLIPS`.
        batch: Clips per update.
        label_smoothing: Label smoothing for the next word, 0 to 1.
    """

    clips: str = "digits"
    batch: int = 32
    label_smoothing: float = 0.05


@dataclass(slots=True)
class Video:
    """The task: clips, and the sentences that describe them."""

    Recipe: ClassVar[type[TrainConfig]] = VideoConfig

    config: VideoConfig
    tokenizer: Tokenizer
    network: VideoCaptioner
    clips: Clips
    device: torch.device

    @classmethod
    def build(cls, config: VideoConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read or draw the clips and make the network."""
        check_choice("clips", config.clips, tuple(CLIPS))
        clips = CLIPS[config.clips](data, config.model)
        tokenizer = run_tokenizer(folder / TOKENIZER, clips.sentences(), LARGEST_VOCABULARY)
        torch.manual_seed(config.seed)
        network = VideoCaptioner(WatcherConfig(len(tokenizer), **config.model)).to(device)
        return cls(config, tokenizer, optimise_for_training(network, device), clips, device)

    def batches(self, first_step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches of randomly drawn clips without end."""
        for rng in step_generators(self.config.seed, first_step):
            yield self.batch(self.clips.drawn(rng, self.config.batch))

    def batch(self, clips: Sequence[TrainingClip]) -> tuple[Tensor, Tensor]:
        """Return the frames, uint8 [B, F, S, S], and the token ids of the sentences, [B, T]."""
        frames_BFSS = torch.from_numpy(np.stack([one.frames for one in clips]))
        ids_BT = pad_rows([self.tokenizer.ids(one.text) for one in clips])
        return frames_BFSS.to(self.device), ids_BT.to(self.device)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Compute the cross-entropy of the next word with label smoothing, in nats."""
        frames_BFSS, ids_BT = batch
        logits_BTV = self.network.attend(
            frames_BFSS, shift_targets(ids_BT), need_weights=False
        ).logits
        return compute_cross_entropy(logits_BTV, ids_BT, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per word in nats, and the accuracy of the content words."""
        totals, right, valid = [], [], self.clips.valid
        for first in range(0, len(valid), self.config.batch):
            clips = valid[first : first + self.config.batch]
            frames_BFSS, ids_BT = self.batch(clips)
            logits_BTV = self.network.attend(frames_BFSS, shift_targets(ids_BT), False).logits
            totals.append(sum_loss(logits_BTV, ids_BT))
            for chosen_T, clip in zip(logits_BTV.argmax(2).tolist(), clips, strict=True):
                wanted = self.tokenizer.ids(clip.text)
                for place, word in enumerate(clip.text.split()):
                    if word not in self.clips.function_words:
                        right.append(chosen_T[place] == wanted[place])
        loss, words = mean_loss(totals), float(np.mean(right))
        score = loss if self.clips.chosen_by == "loss" else -words
        return {"valid_loss": loss, "valid_words": words, "score": score}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        options, about = self.network.config, self.clips.about
        return Description(
            family="watcher",
            title=f"{about.title}, {options.about}",
            task="video",
            level="word",
            mechanism=options.mechanism if options.attends else "none",
            trained_length=options.frames,
            config=asdict(options),
            data=about.data,
            limits=about.limits,
            licence=about.licence,
            recipe={"chosen_by": f"validation {self.clips.chosen_by}"},
        )
