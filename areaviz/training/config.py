"""The recipe of a training run, read from one TOML file (see the folder configs)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from areaviz.trace.errors import InputError

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
        task: Name of the task in recipes, see `areaviz.training.tasks.TRAININGS`.
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
