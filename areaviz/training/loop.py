"""The training loop: batches in, a network that is best on validation out; a killed run resumes.

Shapes: B sentences, T target items, V vocabulary.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.data.batches import Batch, IdPair, buckets, collate
from areaviz.data.tokenizer import PAD
from areaviz.training.config import TrainConfig
from areaviz.training.log import RunLog

RESUME, BEST = "resume.pt", "best.pt"


def learning_rate(step: int, config: TrainConfig) -> float:
    """Linear warm-up to the peak, then a straight line to zero at the last step."""
    warm = min(1.0, (step + 1) / config.warmup)
    left = max(0.0, config.steps - step) / max(1, config.steps - config.warmup)
    return config.peak_rate * min(warm, left)


def batches(pairs: Sequence[IdPair], config: TrainConfig, first_step: int) -> Iterator[Batch]:
    """Shuffled length buckets for ever, from the given step on; the order depends on the seed alone."""
    step, epoch = 0, 0
    while True:
        groups = buckets(pairs, config.batch_tokens, seed=config.seed * 1_000_003 + epoch)
        for group in groups[max(0, first_step - step) :]:
            yield collate([pairs[i] for i in group])
        step, epoch = step + len(groups), epoch + 1


def cross_entropy(logits_BTV: Tensor, target_BT: Tensor, smoothing: float = 0.0, reduction: str = "mean") -> Tensor:
    """Cross-entropy of the next token in nats, padding left out."""
    return F.cross_entropy(
        logits_BTV.flatten(0, 1),
        target_BT.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction=reduction,
    )


@torch.no_grad()
def validation_loss(network: nn.Module, pairs: Sequence[IdPair], batch_tokens: int, device: torch.device) -> float:
    """Cross-entropy a token without label smoothing, in nats."""
    network.eval()
    total, tokens = 0.0, 0
    for group in buckets(pairs, batch_tokens, seed=None):
        batch = collate([pairs[i] for i in group]).to(device)
        logits_BTV = network(batch.source, batch.target_in)
        total += cross_entropy(logits_BTV, batch.target_out, reduction="sum").item()
        tokens += int((batch.target_out != PAD).sum())
    network.train()
    return total / tokens


@dataclass
class Trainer:
    """One run of one network: optimiser, log and resume file in `folder`."""

    network: nn.Module
    config: TrainConfig
    folder: Path
    device: torch.device
    step: int = 0
    best: float = math.inf
    seconds: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.network.to(self.device)
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=self.config.weight_decay, fused=True
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / RESUME).exists():
            self._resume()

    def train(self, train_pairs: Sequence[IdPair], valid_pairs: Sequence[IdPair]) -> None:
        """Go on to the last step, validating and saving every `validate_every` steps."""
        log = RunLog(self.folder, self.config.steps, self.step)
        self.network.train()
        losses, began = [], time.monotonic()
        for batch in batches(train_pairs, self.config, self.step):
            if self.step >= self.config.steps:
                break
            losses.append(self._update(batch.to(self.device)))
            self.step += 1
            log.step(losses[-1])
            if self.step % self.config.validate_every == 0 or self.step == self.config.steps:
                self.seconds += time.monotonic() - began
                log.validation(self._validate(sum(losses) / len(losses), valid_pairs))
                losses, began = [], time.monotonic()
        log.close()

    def _update(self, batch: Batch) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.step, self.config)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._half()):
            logits_BTV = self.network(batch.source, batch.target_in)
        loss = cross_entropy(logits_BTV.float(), batch.target_out, self.config.label_smoothing)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimiser.step()
        return float(loss.detach())

    def _half(self) -> bool:
        """bfloat16 pays on CUDA; on processors without instructions for it, it is five times slower."""
        return self.config.precision == "bfloat16" or (self.config.precision == "auto" and self.device.type == "cuda")

    def _validate(self, train_loss: float, valid_pairs: Sequence[IdPair]) -> dict[str, float]:
        loss = validation_loss(self.network, valid_pairs, self.config.batch_tokens, self.device)
        entry = {"step": self.step, "train_loss": train_loss, "valid_loss": loss, "seconds": self.seconds}
        self.history.append(entry)
        if loss < self.best:
            self.best = loss
            _write(self.folder / BEST, self.network.state_dict())
        _write(self.folder / RESUME, self._state())
        return entry

    def _state(self) -> dict[str, Any]:
        return {
            "model": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "best": self.best,
            "seconds": self.seconds,
            "log": self.history,
            "random": torch.get_rng_state(),
        }

    def _resume(self) -> None:
        state = torch.load(self.folder / RESUME, map_location=self.device, weights_only=True)
        self.network.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.best, self.seconds, self.history = (state[k] for k in ("step", "best", "seconds", "log"))
        torch.set_rng_state(state["random"].cpu())


def _write(path: Path, state: dict[str, Any]) -> None:
    """Save so that a kill half-way leaves the old file whole."""
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)
