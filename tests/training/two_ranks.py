"""The script that two processes of `torchrun` run for tests/training/test_parallel.py.

    two_ranks.py FOLDER [ENDS]

The task has pairs of numbers in batches of equal size. The mean of two batches' losses is
therefore the loss of both batches together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.lab.loop import Description, TrainConfig, Trainer, join_ranks

CPU = torch.device("cpu")


@dataclass
class Pairs:
    """A task that fits y = f(x).

    `joined` batches of the stream form one batch. The stream ends before batch `ends`.
    """

    config: TrainConfig
    network: nn.Module
    joined: int = 1
    ends: int = 10**6

    def batches(self, first_step: int) -> Iterator[Tensor]:
        step = first_step * self.joined
        while step < self.ends:
            yield torch.cat([self.batch(step + part) for part in range(self.joined)])
            step += self.joined

    def batch(self, step: int) -> Tensor:
        return torch.rand(6, 3, generator=torch.Generator().manual_seed(step))

    def loss(self, batch: Tensor) -> Tensor:
        missed: Tensor = self.network(batch)[:, 0] - batch.prod(1)
        return (missed**2).mean()

    def validate(self, step: int) -> dict[str, float]:
        return {"valid_loss": float(self.loss(self.batch(10**6))), "score": float(step)}

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    def describe(self) -> Description:
        raise NotImplementedError


def task(seed: int, joined: int = 1, ends: int = 10**6) -> Pairs:
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    config = TrainConfig(name="pairs", steps=10, peak_rate=0.05, warmup=2, validate_every=4)
    return Pairs(config, network, joined, ends)


def main(folder: Path, ends: int = 10**6) -> None:
    torch.set_num_threads(1)
    with join_ranks(CPU) as ranks:
        run = Trainer(task(ranks.rank, ends=ends), folder, CPU, ranks=ranks)
        seen: list[Any] = [batch.tolist() for batch in islice(ranks.own(run.task.batches(0)), 3)]
        run.train()
        ended = {"weights": run.network.state_dict(), "seen": seen, "chance": torch.rand(1)}
        torch.save(ended, folder / f"rank-{ranks.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
