"""Training in several processes of `torchrun`, each with its own batches and averaged gradients.

Without `torchrun`, a process trains alone, and the functions of this module change nothing.
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
