"""Everything a training run is made of, as one TOML file."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """The recipe of one translation model.

    name: the folder it is saved in. level: "character" or "token". vocabulary: most tokens the tokenizer
    may have. max_length: longer sentences (in tokens) are left out of training. batch_tokens: padded
    target tokens a batch. peak_rate: highest learning rate, reached after `warmup` steps, then a straight
    line to zero at `steps`. model: options of `TransformerConfig`.
    """

    name: str
    level: str
    vocabulary: int
    steps: int
    batch_tokens: int
    peak_rate: float
    warmup: int
    max_length: int = 1000
    label_smoothing: float = 0.1
    weight_decay: float = 0.0
    clip: float = 1.0
    seed: int = 1
    validate_every: int = 500
    source: str = "en"
    target: str = "de"
    size: str = "Tiny"
    model: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> TrainConfig:
        """Read a TOML file; raises ValueError that names an option it does not know."""
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain values, for the card."""
        return asdict(self)
