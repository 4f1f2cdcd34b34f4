"""Everything a training run is made of, as one TOML file (see the folder configs)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from areaviz.trace.errors import InputError


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """The recipe of one translation model.

    name: the folder it is saved in; pair: what it shares with the model it is compared to. level:
    "character" or "token". size: "Tiny", "Small", "Base" or "Big". vocabulary: most tokens the tokenizer
    may have. steps: updates. batch_tokens: padded target tokens a batch. peak_rate: highest learning rate,
    reached after `warmup` steps, then a straight line to zero at the last step. max_length: longer
    sentences (in tokens) are left out of training. precision: "auto" is bfloat16 on CUDA and float32
    elsewhere. model: further options of `TransformerConfig`.
    """

    name: str
    level: str
    vocabulary: int
    steps: int
    batch_tokens: int
    peak_rate: float
    warmup: int
    size: str = "Tiny"
    pair: str = ""
    max_length: int = 1000
    label_smoothing: float = 0.1
    weight_decay: float = 0.0
    clip: float = 1.0
    seed: int = 1
    validate_every: int = 500
    precision: str = "auto"
    source: str = "en"
    target: str = "de"
    model: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> TrainConfig:
        """Read a TOML file.

        Raises:
            InputError: the file is missing, is not TOML, or has an option that is unknown or absent.
        """
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"The recipe {path} cannot be read: {error}.") from error
        unknown = sorted(set(values) - {option.name for option in fields(cls)})
        if unknown:
            raise InputError(f"The recipe {path} has options that do not exist: {', '.join(unknown)}.")
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"The recipe {path} is not complete: {error}.") from error

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain values, for the card."""
        return asdict(self)
