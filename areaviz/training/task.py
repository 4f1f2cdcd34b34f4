"""What the training loop asks of a task, and what tasks share: cached arrays, the fastest form."""

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

from areaviz.attention import kernels
from areaviz.attention.area import AreaOptions
from areaviz.attention.multihead import KeysAndValues
from areaviz.attention.spec import LEARNED_KEYS
from areaviz.trace.files import whole_file
from areaviz.training.config import TrainConfig

Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class Description:
    """The part of a model's card that only its task knows; see `Card` for each entry."""

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
    """A network with its data. `loss` is called in training mode, `validate` in evaluation mode
    without gradients.

    Its class also has `Recipe`, the class of its recipe, and `build`, which reads the data and
    makes the network: (recipe, data folder, run's folder, device).
    """

    @property
    def config(self) -> TrainConfig:
        """The recipe."""

    @property
    def network(self) -> nn.Module:
        """What is trained, on its device."""

    def batches(self, first_step: int) -> Iterator[Any]:
        """Batches on the network's device for ever, from the given step on; they depend on the seed
        alone.
        """

    def loss(self, batch: Any) -> Tensor:
        """The number that training makes small."""

    def validate(self, step: int) -> dict[str, float]:
        """Measures on held-out data after `step` updates, and "score", which is not logged.

        The weights with the smallest score are kept.
        """

    def save(self, folder: Path) -> None:
        """Write what a checkpoint needs beside its weights, such as a tokenizer."""

    def describe(self) -> Description:
        """The task's part of the card."""


def chance_by_step(seed: int, first_step: int) -> Iterator[np.random.Generator]:
    """A generator of chance for every step from the given one on, for ever.

    Each depends on the seed and its step alone, so a run that goes on later draws what it would
    have drawn.
    """
    for step in count(first_step):
        yield np.random.default_rng((seed, step))


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Let one process at a time make `path`; the others wait and find it made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The system frees it, too, if the process is killed.
    with FileLock(path.with_suffix(".lock")):
        yield


def cached_array(path: Path, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return an array mapped from `path`. It is made and saved on the first call.

    Raises:
        BackendError: the disk is full or the place cannot be written to.
    """
    with only_one(path):
        if not path.exists():
            with whole_file(path) as draft, draft.open("wb") as file:
                np.save(file, make())
    found: npt.NDArray[Any] = np.load(path, mmap_mode="c")
    return found


def fastest(network: Network, device: torch.device) -> Network:
    """The same network in the form that trains fastest on the device.

    On a CPU channels are last in memory (digit readers of pictures: 1.2 to 1.8 times as fast).
    Areas are attended to by the C kernel wherever it computes them and can be compiled; without it
    learned keys are fastest in the pooled form (benchmarks/README.md has what a step of each
    costs).
    """
    if device.type != "cpu":
        return network
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            # torch's types lack this form of `to`.
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        # Whatever attends to areas has one of these.
        if isinstance(module, KeysAndValues):
            module.impl = _fastest_form(module.areas)
    return network


def _fastest_form(areas: AreaOptions) -> str:
    if kernels.available():
        return "auto"
    return "pooled" if areas.key_mode in LEARNED_KEYS or areas.size_bias else "auto"
