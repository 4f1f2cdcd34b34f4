"""The training loop: trains on batches and keeps the network that validates best.

A killed run resumes where it was last saved.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.trace.safe_files import write_whole
from areaviz.training.config import TrainConfig
from areaviz.training.log import NoLog, RunLog
from areaviz.training.parallel import ALONE, Ranks
from areaviz.training.task import TrainingTask

RESUME, BEST, RECENT = "resume.pt", "best.pt", "recent-"


def compute_learning_rate(step: int, config: TrainConfig) -> float:
    """Return the learning rate of a step.

    It rises linearly to the peak, then falls to zero along a line or half a cosine wave.
    """
    warm = min(1.0, (step + 1) / max(1, config.warmup))
    left = max(0.0, config.steps - step) / max(1, config.steps - config.warmup)
    if config.schedule == "cosine":
        left = (1 - math.cos(math.pi * min(1.0, left))) / 2
    return config.peak_rate * min(warm, left)


def group_parameters(network: nn.Module, config: TrainConfig) -> list[dict[str, Any]]:
    """Return all parameters in groups.

    The entry "factor" of a group multiplies its learning rate.
    """
    groups: dict[float, list[nn.Parameter]] = {}
    for name, value in network.named_parameters():
        factors = [rate for start, rate in config.rates.items() if name.startswith(start)]
        groups.setdefault(factors[0] if factors else 1.0, []).append(value)
    return [{"params": values, "factor": factor} for factor, values in groups.items()]


class TrainingPaused(Exception):
    """Raised when a run has paused and been saved. The message says where it stopped."""


def never() -> bool:
    """Return False. As `should_pause`, it lets training run to the end."""
    return False


@dataclass
class Trainer:
    """One run of a task in the processes `ranks`.

    The optimiser's state, the log and the resume file are in `folder`.
    """

    task: TrainingTask
    folder: Path
    device: torch.device
    step: int = 0
    best: float = math.inf
    seconds: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)
    averaged: dict[str, float] = field(default_factory=dict)
    ranks: Ranks = ALONE
    # Function that is called after every update. When it returns true, the run is saved and
    # `TrainingPaused` is raised.
    should_pause: Callable[[], bool] = never

    def __post_init__(self) -> None:
        self.config, self.network = self.task.config, self.task.network
        self.optimiser = torch.optim.AdamW(
            group_parameters(self.network, self.config),
            lr=0.0,
            betas=(0.9, 0.98),
            weight_decay=self.config.weight_decay,
            fused=True,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / RESUME).exists():
            self._resume()
        self.ranks.check_step(self.step, self.device)
        # The first process continues the run's random numbers. Other processes get their own seeds.
        if not self.ranks.writes:
            torch.manual_seed(self.config.seed + self.step * self.ranks.count + self.ranks.rank)
        self._loss = self.ranks.loss(self.task)

    def train(self) -> None:
        """Train to the last step. Validate and save every `validate_every` steps.

        Raises:
            TrainingPaused: `should_pause` returned true. The run has been saved.
        """
        log = RunLog(self.folder, self.config.steps, self.step) if self.ranks.writes else NoLog()
        self.network.train()
        losses, began = [], time.monotonic()
        for batch in self.ranks.own(self.task.batches(self.step * self.ranks.count)):
            if self.step >= self.config.steps:
                break
            losses.append(self._update(batch))
            self.step += 1
            log.step(losses[-1])
            is_last = self.step == self.config.steps
            if self.should_pause() and not is_last:
                self.seconds += time.monotonic() - began
                self._pause()
            if is_last or self.step % self.config.validate_every == 0:
                # Validation does not count as training time.
                self.seconds += time.monotonic() - began
                if self.ranks.writes:
                    log.validation(self._validate(sum(losses) / len(losses)))
                losses, began = [], time.monotonic()
        if self.ranks.writes and self.config.average:
            self._average()
        log.close()

    def _pause(self) -> None:
        """Save the run as it is and raise `TrainingPaused`."""
        if self.ranks.writes:
            _write_state(self.folder / RESUME, self._state())
        raise TrainingPaused(f"{self.config.name} paused after {self.step:,} updates.")

    def _update(self, batch: Any) -> float:
        rate = compute_learning_rate(self.step, self.config)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        # bfloat16 is faster on CUDA. On processors without instructions for it, it is five times
        # slower.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            loss = self._loss(batch)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimiser.step()
        return float(loss.detach())

    def _validate(self, train_loss: float) -> dict[str, float]:
        score, measured = self._measure()
        entry = {"step": self.step, "train_loss": train_loss, **measured, "seconds": self.seconds}
        self.history.append(entry)
        if score < self.best:
            self.best = score
            _write_state(self.folder / BEST, self.network.state_dict())
        self._keep_recent()
        _write_state(self.folder / RESUME, self._state())
        return entry

    def _measure(self) -> tuple[float, dict[str, float]]:
        """Return the score of the current weights and the task's other measures."""
        self.network.eval()
        with torch.no_grad():
            measured = self.task.validate(self.step)
        self.network.train()
        return measured.pop("score"), measured

    def _keep_recent(self) -> None:
        """Keep the weights of the last validations, to average them later."""
        if self.config.average:
            _write_state(self.folder / f"{RECENT}{self.step:08}.pt", self.network.state_dict())
        for old in self._list_recent_weights()[: -self.config.average or None]:
            old.unlink()

    def _list_recent_weights(self) -> list[Path]:
        return sorted(self.folder.glob(f"{RECENT}*.pt"))

    def _average(self) -> None:
        """Keep the mean of the last weights if it validates better, or if the recipe keeps it."""
        states = []
        for path in self._list_recent_weights():
            states.append(torch.load(path, map_location=self.device, weights_only=True))
        last = {name: value.clone() for name, value in self.network.state_dict().items()}
        mean = {}
        for name, value in last.items():
            # Average in double precision, because counters of normalisation layers are integers.
            values = torch.stack([state[name].double() for state in states])
            mean[name] = values.mean(0).to(value.dtype)
        self.network.load_state_dict(mean)
        score, measured = self._measure()
        is_kept = self.config.keep_average or score < self.best
        self.averaged = {"checkpoints": len(states), **measured, "kept": float(is_kept)}
        if is_kept:
            self.best = score
            _write_state(self.folder / BEST, self.network.state_dict())
        # Restore the last weights. The average is only written to a file.
        self.network.load_state_dict(last)

    def _state(self) -> dict[str, Any]:
        return {
            "model": self.network.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "step": self.step,
            "best": self.best,
            "seconds": self.seconds,
            "log": self.history,
            "random": _get_random_states(self.device),
        }

    def _resume(self) -> None:
        state = torch.load(self.folder / RESUME, map_location=self.device, weights_only=True)
        self.network.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        for parameter, kept in self.optimiser.state.items():
            for name, value in kept.items():
                kept[name] = _match_memory_order(parameter, value)
        self.step, self.best = state["step"], state["best"]
        self.seconds, self.history = state["seconds"], state["log"]
        _set_random_states(state["random"], self.device)


def _get_random_states(device: torch.device) -> dict[str, Tensor]:
    """Return the states of all generators that training on `device` uses, by kind of device."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def _set_random_states(states: dict[str, Tensor] | Tensor, device: torch.device) -> None:
    """Restore the states of the generators.

    Runs from an earlier version stored only the state of the CPU, as a tensor.
    """
    kept = {"cpu": states} if isinstance(states, Tensor) else states
    torch.set_rng_state(kept["cpu"].cpu())
    if device.type == "cuda" and "cuda" in kept:
        torch.cuda.set_rng_state(kept["cuda"].cpu(), device)


def take_best(network: nn.Module, run: Path, device: torch.device) -> None:
    """Load the best weights of a run's folder into a network of the same architecture."""
    network.load_state_dict(torch.load(run / BEST, map_location=device, weights_only=True))


def _match_memory_order(parameter: Tensor, value: Tensor) -> Tensor:
    """Return the values in the parameter's memory order, which the fused optimiser requires."""
    return torch.empty_like(parameter).copy_(value) if value.shape == parameter.shape else value


def _write_state(path: Path, state: dict[str, Any]) -> None:
    """Save a state. If writing fails or the process is killed, the old file stays intact."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write_whole(path, buffer.getvalue())
