"""What the training loop asks of a task: translation, reading digits, describing pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor, nn

from areaviz.training.config import TrainConfig


@dataclass(frozen=True, slots=True)
class Description:
    """The part of a model's card that only its task knows; see `Card` for each entry."""

    family: str
    title: str
    task: str
    level: str
    mechanism: str
    size: str
    trained_length: int
    config: Mapping[str, Any]
    data: Mapping[str, Any]
    limits: str
    licence: str
    recipe: Mapping[str, Any]


class Task(Protocol):
    """A network with its data. `loss` is asked in training mode, `validate` in evaluation mode
    without gradients.
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
        """What is made small."""

    def validate(self, step: int) -> dict[str, float]:
        """Measures on held-out data after `step` updates. The weights with the smallest "score" are
        kept; it is not logged.
        """

    def save(self, folder: Path) -> None:
        """Write what a checkpoint needs beside its weights, such as a tokenizer."""

    def describe(self) -> Description:
        """The task's part of the card."""
