"""The training loop: batches in, a model that is best on validation out; a killed run resumes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.data.batches import Batch, IdPair, buckets, collate
from areaviz.data.tokenizer import PAD
from areaviz.training.config import TrainConfig


def learning_rate(step: int, config: TrainConfig) -> float:
    """Linear warm-up to the peak, then a straight line to zero at the last step."""
    warm = min(1.0, (step + 1) / config.warmup)
    left = max(0.0, config.steps - step) / max(1, config.steps - config.warmup)
    return config.peak_rate * min(warm, left)


def batches(pairs: list[IdPair], config: TrainConfig, first_step: int) -> Iterator[Batch]:
    """Shuffled length buckets for ever; the order depends only on the seed and the step."""
    step, epoch = 0, 0
    while True:
        groups = buckets(pairs, config.batch_tokens, seed=config.seed * 1_000_003 + epoch)
        for group in groups[max(0, first_step - step) :]:
            yield collate([pairs[i] for i in group])
        step, epoch = step + len(groups), epoch + 1


def loss_of(model: nn.Module, batch: Batch, smoothing: float, reduction: str = "mean") -> Tensor:
    """Cross-entropy of the next token in nats, padding left out."""
    logits_BTV = model(batch.source, batch.target_in)
    return F.cross_entropy(
        logits_BTV.flatten(0, 1),
        batch.target_out.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction=reduction,
    )


@torch.no_grad()
def validation_loss(model: nn.Module, pairs: list[IdPair], config: TrainConfig, device: torch.device) -> float:
    """Unsmoothed cross-entropy a token, in nats."""
    model.eval()
    total, tokens = 0.0, 0
    for group in buckets(pairs, config.batch_tokens, seed=None):
        batch = collate([pairs[i] for i in group]).to(device)
        total += loss_of(model, batch, 0.0, "sum").item()
        tokens += int((batch.target_out != PAD).sum())
    model.train()
    return total / tokens


@dataclass
class Trainer:
    """One run: owns the optimiser, the log and the resume file in `folder`."""

    model: nn.Module
    config: TrainConfig
    folder: Path
    device: torch.device
    step: int = 0
    best: float = math.inf
    seconds: float = 0.0
    log: list[dict[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model.to(self.device)
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=0.0, betas=(0.9, 0.98), weight_decay=self.config.weight_decay, fused=True
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / "resume.pt").exists():
            self._resume()

    def train(self, train_pairs: list[IdPair], valid_pairs: list[IdPair]) -> None:
        """Run to the last step, validating and saving on the way."""
        self.model.train()
        mean_loss, began = 0.0, time.monotonic()
        for batch in batches(train_pairs, self.config, self.step):
            if self.step >= self.config.steps:
                break
            loss = self._update(batch.to(self.device))
            mean_loss += (loss - mean_loss) / (1 + self.step % self.config.validate_every)
            self.step += 1
            if self.step % self.config.validate_every == 0 or self.step == self.config.steps:
                self.seconds += time.monotonic() - began
                self._validate(mean_loss, valid_pairs)
                mean_loss, began = 0.0, time.monotonic()

    def _update(self, batch: Batch) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.step, self.config)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = loss_of(self.model, batch, self.config.label_smoothing)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        self.optimiser.step()
        return float(loss.detach())

    def _validate(self, train_loss: float, valid_pairs: list[IdPair]) -> None:
        loss = validation_loss(self.model, valid_pairs, self.config, self.device)
        entry = {"step": self.step, "train_loss": train_loss, "valid_loss": loss, "seconds": self.seconds}
        self.log.append(entry)
        with (self.folder / "log.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(json.dumps(entry), flush=True)
        if loss < self.best:
            self.best = loss
            _write(self.folder / "best.pt", self.model.state_dict())
        _write(self.folder / "resume.pt", self._state())

    def _state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "best": self.best,
            "seconds": self.seconds,
            "log": self.log,
            "random": torch.get_rng_state(),
        }

    def _resume(self) -> None:
        state = torch.load(self.folder / "resume.pt", map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.best, self.seconds, self.log = (state[k] for k in ("step", "best", "seconds", "log"))
        torch.set_rng_state(state["random"].cpu())


def _write(path: Path, state: dict[str, Any]) -> None:
    """Save so that a kill half-way leaves the old file whole."""
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)
