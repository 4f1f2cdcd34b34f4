"""Everything a training run is made of, as one TOML file (see the folder configs)."""

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
    """What every recipe has; each task adds its own options.

    Args:
        name: the folder the model is saved in.
        steps: updates.
        peak_rate: highest learning rate, reached after `warmup` steps.
        warmup: steps.
        schedule: how the rate then falls to zero at the last step, "linear" or "cosine".
        average: how many of the last validated weights are averaged at the end, 0 for none; their
            mean is kept where it validates better than the best of them.
        task: a task's name in recipes, see `Task.recipe`.
        pair: what it shares with the model it is compared to.
        weight_decay: of AdamW.
        clip: the largest norm of the gradient.
        seed: of the weights and the batches.
        validate_every: steps.
        rates: parts of the network that learn at another rate, by the beginning of their name, as
            a factor.
        model: options of the network.
        gates: what the model has to reach, see `areaviz.cards.gates.Gate`.
    """

    name: str
    steps: int
    peak_rate: float
    warmup: int
    schedule: str = "linear"
    average: int = 0
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
        """The recipe that `path` holds; InputError for an option that is unknown or absent."""
        unknown = sorted(set(values) - {option.name for option in fields(cls)})
        if unknown:
            raise InputError(
                f"The recipe {path} has options that do not exist: {', '.join(unknown)}."
            )
        try:
            config = cls(**values)
        except TypeError as error:
            raise InputError(f"The recipe {path} is not complete: {error}.") from error
        if config.schedule not in SCHEDULES:
            raise InputError(
                f'The recipe {path} has the schedule "{config.schedule}"; choose one of:'
                f" {', '.join(SCHEDULES)}."
            )
        return config

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain values, for the card, which has the gates elsewhere."""
        return {name: value for name, value in asdict(self).items() if name != "gates"}


def read_recipe(path: Path) -> dict[str, Any]:
    """The entries of a TOML file; InputError when it is missing or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"The recipe {path} cannot be read: {error}.") from error
