"""Training of speech recognisers on strings of spoken digits, which are joined for every batch.

Shapes: B recordings, F frames, E bands, T target items, V vocabulary, M items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from areaviz.data.spoken_digits import Recordings, Utterance, join_recordings, read_recordings
from areaviz.data.synthesised_digits import synthesise_recordings
from areaviz.measures.references import find_boundary_hits
from areaviz.media.sounds import compute_spectrogram
from areaviz.models.base import TOKENIZER
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.models.speech import SAMPLES_PER_ITEM, ListenerConfig, SpeechRecognizer
from areaviz.models.tokenizer import Tokenizer, pad_rows, shift_targets
from areaviz.training.about import read_training_texts
from areaviz.training.config import TrainConfig
from areaviz.training.sentences import compute_cross_entropy, mean_loss, run_tokenizer, sum_loss
from areaviz.training.task import Description

VALIDATION_EXAMPLES = 256
"""Number of strings in a validation. Every validation uses the same strings."""

SYNTHESISED = (
    "; a quarter of the strings are of 40 synthesised voices (espeak-ng), so that the app's own"
    " recordings, of other voices of it, can be heard"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechConfig(TrainConfig):
    """The recipe of a speech recogniser.

    Args:
        batch: Strings per update.
        fewest: Minimum number of digits in a string.
        most: Maximum number of digits in a string.
        label_smoothing: Label smoothing for the next token, 0 to 1.
        synthesised: Whether a quarter of the strings are spoken by voices of espeak-ng.
    """

    batch: int = 32
    fewest: int = 6
    most: int = 10
    label_smoothing: float = 0.1
    synthesised: bool = False


@dataclass(slots=True)
class Speech:
    """The task: strings of recordings, and their transcripts."""

    Recipe: ClassVar[type[TrainConfig]] = SpeechConfig

    config: SpeechConfig
    tokenizer: Tokenizer
    network: SpeechRecognizer
    recordings: Recordings
    valid: Sequence[Utterance]
    device: torch.device

    @classmethod
    def build(cls, config: SpeechConfig, data: Path, folder: Path, device: torch.device) -> Self:
        """Read the recordings, join those for validation and make the network."""
        recordings = read_recordings(data, "train")
        if config.synthesised:
            recordings = recordings.join_recordings(synthesise_recordings())
        counts = (config.fewest, config.most)
        # Use the same strings in every run, so that the figures of runs can be compared.
        rng = np.random.default_rng(1)
        others = read_recordings(data, "val")
        valid = [join_recordings(others, rng, counts) for _ in range(VALIDATION_EXAMPLES)]
        said = (one.text for one in valid)
        tokenizer = run_tokenizer(folder / TOKENIZER, said, 32, "character", normalised=False)
        torch.manual_seed(config.seed)
        network = SpeechRecognizer(ListenerConfig(len(tokenizer), **config.model)).to(device)
        return cls(config, tokenizer, network, recordings, valid, device)

    def batches(self, first_step: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches of new strings without end."""
        step, counts = first_step, (self.config.fewest, self.config.most)
        while True:
            rng = np.random.default_rng((self.config.seed, step))
            yield self.batch(
                [join_recordings(self.recordings, rng, counts) for _ in range(self.config.batch)]
            )
            step += 1

    def batch(self, utterances: Sequence[Utterance]) -> tuple[Tensor, Tensor]:
        """Return frames [B, F, E], padded with NaN, and the tokens of the transcripts [B, T]."""
        frames = [torch.from_numpy(compute_spectrogram(one.samples)) for one in utterances]
        padded_BFE = pad_sequence(frames, batch_first=True, padding_value=torch.nan)
        ids_BT = pad_rows([self.tokenizer.ids(one.text) for one in utterances])
        return padded_BFE.to(self.device), ids_BT.to(self.device)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        """Compute the cross-entropy of the next token with label smoothing, in nats."""
        frames_BFE, ids_BT = batch
        logits_BTV = self.network.attend(
            frames_BFE, shift_targets(ids_BT), need_weights=False
        ).logits
        return compute_cross_entropy(logits_BTV, ids_BT, self.config.label_smoothing)

    def validate(self, step: int) -> dict[str, float]:
        """Measure cross-entropy per token in nats, and how often attention hits the digit."""
        totals, hits = [], []
        for first in range(0, len(self.valid), self.config.batch):
            utterances = self.valid[first : first + self.config.batch]
            frames_BFE, ids_BT = self.batch(utterances)
            found = self.network.attend(frames_BFE, shift_targets(ids_BT))
            totals.append(sum_loss(found.logits, ids_BT))
            weights_BTM = found.weights[RECURRENT_SITE][0][:, 0].cpu().numpy()
            for weights_TM, one in zip(weights_BTM, utterances, strict=True):
                hits += find_boundary_hits(weights_TM, one.bounds, SAMPLES_PER_ITEM)
        loss = mean_loss(totals)
        return {"valid_loss": loss, "valid_hits": float(np.mean(hits)), "score": loss}

    def save(self, folder: Path) -> None:
        """Write the tokenizer."""
        self.tokenizer.save(folder / TOKENIZER)

    def describe(self) -> Description:
        """Return the task's part of the model card."""
        options = self.network.config
        more = SYNTHESISED if self.config.synthesised else ""
        texts = read_training_texts("speech", validated=VALIDATION_EXAMPLES, synthesised=more)
        return Description(
            family="listener",
            title=f"Spoken digits, {options.about}",
            task="speech",
            level="character",
            mechanism=options.mechanism,
            trained_length=self.config.most,
            config=asdict(options),
            data=texts.data,
            limits=texts.limits,
            licence=texts.licence,
            recipe={"chosen_by": "validation loss"},
        )
