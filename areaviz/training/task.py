"""The interface of a training task, and functions that tasks share, such as cached arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from filelock import FileLock
from torch import Tensor, nn

from areaviz.attention import area
from areaviz.attention.area import AreaOptions
from areaviz.attention.multihead import KeysAndValues
from areaviz.attention.pooled import LEARNED_KEYS
from areaviz.trace.safe_files import write_whole_file
from areaviz.training.config import TrainConfig

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
