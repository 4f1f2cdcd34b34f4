"""What can be said about somebody else's model and its input, besides the two themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz.adapters.probes import Probe
from areaviz.trace.arrays import AREA_SIZE
from areaviz.trace.limits import AREA_SIZES, check_range


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is run and shown.

    target: what a decoder writes, as text or token ids; None: an encoder-decoder writes it itself,
    greedily, at most `steps` tokens. tokenizer: of `transformers`, for text. labels: what each item
    of the input shows. area_size: heads are shown as areas of up to so many items, or so many rows
    and columns, 1..16; 1 leaves that out. name: what the model is called; by default its class or
    folder. processor: turns a picture into `pixel_values`; by default the picture is resized to the
    model's size and scaled to -1..1. probes: for any module, see `areaviz.adapters.probes`.
    """

    target: object = None
    steps: int = 64
    tokenizer: Any = None
    labels: Sequence[str] | None = None
    area_size: int = AREA_SIZE
    name: str = ""
    processor: Any = None
    probes: Mapping[str, Probe] | None = None

    def __post_init__(self) -> None:
        check_range("area_size", self.area_size, AREA_SIZES)
        check_range("steps", self.steps, (1, 1024))
