"""The training loop, with its recipes, texts for cards, logs, tasks and processes.

Read `TrainingTask` and `Trainer` first.
"""

from __future__ import annotations

import io
import json
import math
import os
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import timedelta
from importlib.resources import files
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from filelock import FileLock
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from areaviz.attention import area
from areaviz.attention.area import AreaOptions
from areaviz.attention.multihead import KeysAndValues
from areaviz.attention.pooled import LEARNED_KEYS
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import write_whole, write_whole_file

# The recipe of a training run, read from one TOML file (see the folder configs).


SCHEDULES = ("linear", "cosine")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """Options that every recipe has. Each task adds its own.

    Args:
        name: Name of the model, and of its folder in the folder of runs.
        steps: Number of updates.
        peak_rate: Highest learning rate, reached after `warmup` steps.
        warmup: Number of warm-up steps.
        schedule: Decay of the rate to zero after the warm-up, "linear" or "cosine".
        average: Number of validations at the end whose weights are averaged, or 0 for none. The
            average is kept if it validates better than all weights before.
        keep_average: Whether the average is kept even if it validates worse. A model that learns
            from the outputs of other models can translate better while its loss on the validation
            sentences, which people wrote, rises.
        task: Name of the task in recipes, see `areaviz.lab.tasks.TRAININGS`.
        pair: Name of a comparison. Models of one comparison differ only in their attention and its
            supervision.
        weight_decay: Weight decay of AdamW.
        clip: Largest norm of the gradient.
        seed: Seed of the weights and the batches.
        validate_every: Steps between two validations.
        rates: Factors of the learning rate for parts of the network, by the start of their names.
        model: Options of the network.
        gates: Results that the model must reach, see `areaviz.cards.card.Gate`.
    """

    name: str
    steps: int
    peak_rate: float
    warmup: int
    schedule: str = "linear"
    average: int = 0
    keep_average: bool = False
    task: str = "translation"
    pair: str = ""
    weight_decay: float = 0.0
    clip: float = 1.0
    seed: int = 1
    validate_every: int = 500
    rates: Mapping[str, float] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    gates: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any], path: Path) -> Self:
        """Make a recipe from the values read from `path`.

        Raises:
            InputError: An option is unknown, missing or not allowed.
        """
        unknown = sorted(set(values) - {option.name for option in fields(cls)})
        if unknown:
            raise InputError(
                f"The recipe {path} has options that do not exist: {', '.join(unknown)}. Remove"
                " them."
            )
        try:
            config = cls(**values)
        except TypeError as error:
            raise InputError(
                f"The recipe {path} is not complete ({error}). Add the missing options."
            ) from error
        if config.schedule not in SCHEDULES:
            raise InputError(
                f'The recipe {path} has the schedule "{config.schedule}". Choose one of:'
                f" {', '.join(SCHEDULES)}."
            )
        return config

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as plain values for the card, without the gates.

        The card has its own entry for the gates.
        """
        return {name: value for name, value in asdict(self).items() if name != "gates"}


def read_recipe(path: Path) -> dict[str, Any]:
    """Read the entries of a TOML file.

    Raises:
        InputError: The file is missing or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"The recipe {path} cannot be read ({error}). Check it.") from error


# Texts on the data and the limits of a model for its card, read from `about.toml`.


TEXTS = "about.toml"


@dataclass(frozen=True, slots=True)
class TrainingTexts:
    """The texts of one training."""

    # Texts by name: "name", "train", "valid", "test", "licence" and, if people labelled the data,
    # "gold".
    data: Mapping[str, str]
    limits: str
    # The licence of the weights.
    licence: str
    # The beginning of the model's title, or "" for none.
    title: str = ""
    # The limits of a model that translates with these pictures, or "" for other data.
    translated: str = ""


def read_training_texts(name: str, **values: object) -> TrainingTexts:
    """Return the texts of a training.

    Args:
        name: A section of `about.toml`.
        **values: The values that the texts name in braces.

    Raises:
        KeyError: There is no such section, or a value is missing.
    """
    sections = tomllib.loads((files("areaviz.lab") / TEXTS).read_text("utf-8"))
    section = sections[name]
    data = {key: text.format(**values) for key, text in section.pop("data").items()}
    return TrainingTexts(data, section.pop("limits").format(**values), **section)


# The log of a run: a file of JSON lines, TensorBoard and a progress bar.
#
# The file is always written. TensorBoard and the progress bar are used only if their packages are
# installed, so training runs on a machine that has little more than torch.


class RunLog:
    """Writer of `folder`/log.jsonl and, if TensorBoard is installed, of its event files."""

    def __init__(self, folder: Path, steps: int, done: int) -> None:
        self._path = folder / "log.jsonl"
        self._board = _open_tensorboard(folder)
        self._bar = _make_progress_bar(steps, done)

    def step(self, loss: float) -> None:
        """Record one update."""
        if self._bar is not None:
            self._bar.update()
            self._bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

    def validation(self, entry: Mapping[str, float]) -> None:
        """Record one validation: its step, train_loss, seconds and the measures of the task."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        for name in set(entry) - {"step", "seconds"}:
            if self._board is not None:
                self._board.add_scalar(name, entry[name], int(entry["step"]))

    def close(self) -> None:
        """Flush and close all parts of the log."""
        for part in (self._board, self._bar):
            if part is not None:
                part.close()


class NoLog:
    """A log that does nothing, for the processes of a run that do not write files."""

    def step(self, loss: float) -> None:
        """Do nothing."""

    def validation(self, entry: Mapping[str, float]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _open_tensorboard(folder: Path) -> Any:
    if find_spec("tensorboard") is None:
        print(
            "TensorBoard is not installed, so only log.jsonl is written. To write both: pip"
            " install tensorboard"
        )
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))


def _make_progress_bar(steps: int, done: int) -> Any:
    if find_spec("tqdm") is None:
        return None
    from tqdm import tqdm

    return tqdm(total=steps, initial=done, unit="step", dynamic_ncols=True, mininterval=2.0)


# The interface of a training task, and functions that tasks share, such as cached arrays.


Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class Description:
    """The task's own part of a model card. See `Card` for each entry."""

    family: str
    title: str
    task: str
    level: str
    mechanism: str
    trained_length: int
    config: Mapping[str, Any]
    data: Mapping[str, Any]
    limits: str
    licence: str
    recipe: Mapping[str, Any]
    size: str = ""


class TrainingTask(Protocol):
    """A network with its data.

    `loss` is called in training mode, `validate` in evaluation mode without gradients.

    The class of a task also has `Recipe`, the class of its recipe, and `build(recipe, data folder,
    run's folder, device)`, which reads the data and makes the network.
    """

    @property
    def config(self) -> TrainConfig:
        """The recipe."""

    @property
    def network(self) -> nn.Module:
        """The network that is trained, on its device."""

    def batches(self, first_step: int) -> Iterator[Any]:
        """Yield batches on the network's device without end, from the given step on.

        A batch depends only on the seed and its step.
        """

    def loss(self, batch: Any) -> Tensor:
        """Return the loss to minimise."""

    def validate(self, step: int) -> dict[str, float]:
        """Measure the network on held-out data after `step` updates.

        Returns:
            The measures, and "score", which is not logged. The weights with the smallest score are
            kept.
        """

    def save(self, folder: Path) -> None:
        """Write the files of a checkpoint other than its weights, such as a tokenizer."""

    def describe(self) -> Description:
        """Return the task's part of the model card."""


def step_generators(seed: int, first_step: int) -> Iterator[np.random.Generator]:
    """Yield a random generator for every step from the given one on, without end.

    Each depends only on the seed and its step, so a resumed run draws what an uninterrupted run
    would have drawn.
    """
    for step in count(first_step):
        yield np.random.default_rng((seed, step))


@contextmanager
def lock_path(path: Path) -> Iterator[None]:
    """Let only one process at a time make the file `path`.

    Other processes wait until it is made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The operating system also releases the lock if the process is killed.
    with FileLock(path.with_suffix(".lock")):
        yield


def load_or_make_array(path: Path, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return an array mapped from `path`. It is made and saved on the first call.

    Raises:
        BackendError: The disk is full or the folder cannot be written to.
    """
    with lock_path(path):
        if not path.exists():
            with write_whole_file(path) as draft, draft.open("wb") as file:
                np.save(file, make())
    found: npt.NDArray[Any] = np.load(path, mmap_mode="c")
    return found


def optimise_for_training(network: Network, device: torch.device) -> Network:
    """Optimise a network for training speed on a device.

    On a CPU, convolutions store channels last in memory, which makes digit readers 1.2 to 1.8 times
    as fast. Area attention uses the C kernel if it can be compiled and supports the options.
    Without the kernel, learned keys are fastest in the pooled implementation. benchmarks/README.md
    lists the cost of a step of each implementation.
    """
    if device.type != "cpu":
        return network
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            # torch's type annotations lack this form of `to`.
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        # Every module that attends to areas has a `KeysAndValues`.
        if isinstance(module, KeysAndValues):
            module.impl = _choose_fastest_form(module.areas)
    return network


def _choose_fastest_form(areas: AreaOptions) -> str:
    if area.has_cpu_kernel():
        return "auto"
    return "pooled" if areas.key_mode in LEARNED_KEYS or areas.size_bias else "auto"


# Training in several processes of `torchrun`, each with its own batches and averaged gradients.
#
# Without `torchrun`, a process trains alone, and the functions of this section change nothing.


Made = TypeVar("Made")
PATIENCE = timedelta(hours=4)
"""Maximum time that the other processes wait for the first one, which validates and writes."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The processes of one run."""

    # Number of this process, counted from 0.
    rank: int = 0
    # Number of processes.
    count: int = 1

    @property
    def writes(self) -> bool:
        """Whether this process validates, logs and saves."""
        return self.rank == 0

    def own(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield every `count`-th batch from this process's number on, so batches are shared."""
        return islice(batches, self.rank, None, self.count)

    def loss(self, task: TrainingTask) -> Callable[[Any], Tensor]:
        """Return the task's loss as a function whose gradients are averaged over the processes.

        All processes start with the weights of the first.
        """
        if self.count == 1:
            return task.loss
        return DistributedDataParallel(_Loss(task), find_unused_parameters=True)

    def in_turn(self, make: Callable[[], Made]) -> Made:
        """Return the result of `make`, which runs in the first process before the other ones.

        The other processes can then use the files that the first one has cached.
        """
        for turn in (self.writes, not self.writes):
            if turn:
                made = make()
            if self.count > 1:
                distributed.barrier()
        return made

    def check_step(self, step: int, device: torch.device) -> None:
        """Check that all processes resume from the same step.

        Raises:
            InputError: Their steps differ.
        """
        if self.count == 1:
            return
        ends = torch.tensor([step, -step], device=device)
        distributed.all_reduce(ends, distributed.ReduceOp.MAX)
        if ends.sum() != 0:
            raise InputError(
                f"The processes resume from different steps, up to {int(ends[0]):,}. Give all"
                " processes the same folder of runs, on a shared disk."
            )


ALONE = Ranks()


@contextmanager
def join_ranks(device: torch.device) -> Iterator[Ranks]:
    """Yield the processes that `torchrun` started, or `ALONE` without it.

    On CUDA, each process has its own GPU.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield Ranks(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()


class _Loss(nn.Module):
    """A task's loss as a module, so that `DistributedDataParallel` finds its parameters."""

    def __init__(self, task: TrainingTask) -> None:
        super().__init__()
        self.network = task.network
        self._loss = task.loss

    def forward(self, batch: Any) -> Tensor:
        return self._loss(batch)


# The training loop: trains on batches and keeps the network that validates best.
#
# A killed run resumes where it was last saved.


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


def never_pause() -> bool:
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
    should_pause: Callable[[], bool] = never_pause

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
