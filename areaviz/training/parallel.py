"""Training in several processes of `torchrun`: each has its batches, gradients are averaged.

Where `torchrun` did not start it, a process is alone, and nothing here does anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from areaviz.trace.errors import InputError
from areaviz.training.task import TrainingTask

Made = TypeVar("Made")
PATIENCE = timedelta(hours=4)
"""How long the others wait for the first, which validates and writes."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The processes of one run."""

    # this one, 0-based
    rank: int = 0
    # how many there are
    count: int = 1

    @property
    def writes(self) -> bool:
        """Whether this one validates, logs and saves."""
        return self.rank == 0

    def own(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Every `count`-th of the batches that a single process would draw."""
        return islice(batches, self.rank, None, self.count)

    def loss(self, task: TrainingTask) -> Callable[[Any], Tensor]:
        """The task's loss; gradients are averaged, and all begin with the first one's weights."""
        if self.count == 1:
            return task.loss
        return DistributedDataParallel(_Loss(task), find_unused_parameters=True)

    def in_turn(self, make: Callable[[], Made]) -> Made:
        """What `make` gives, first in the first process: the others find what it cached."""
        for turn in (self.writes, not self.writes):
            if turn:
                made = make()
            if self.count > 1:
                distributed.barrier()
        return made

    def check_step(self, step: int, device: torch.device) -> None:
        """Check that all resume from the same step; raises InputError."""
        if self.count == 1:
            return
        ends = torch.tensor([step, -step], device=device)
        distributed.all_reduce(ends, distributed.ReduceOp.MAX)
        if ends.sum() != 0:
            raise InputError(
                f"The processes resume from different steps, up to {int(ends[0]):,}; "
                "give all of them the same folder of runs, on a disk they share."
            )


ALONE = Ranks()


@contextmanager
def ranks_of(device: torch.device) -> Iterator[Ranks]:
    """The processes that `torchrun` started, or this one alone; on CUDA each has its own GPU."""
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
    """A task's loss as a module, so that averaging finds its parameters."""

    def __init__(self, task: TrainingTask) -> None:
        super().__init__()
        self.network = task.network
        self._loss = task.loss

    def forward(self, batch: Any) -> Tensor:
        return self._loss(batch)
