"""How a page first shows a site of a model: an entry of the model's card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from areaviz.trace.derived import BestAlignment, read_best_alignment
from areaviz.trace.errors import READINGS


@dataclass(frozen=True, slots=True)
class Opening:
    """How a page first shows one site of a model. Validation chose it."""

    # The display, one of `READINGS`.
    reading: str
    # Counted from 0. The head None, "all" in card.json, means all heads.
    layer: int
    head: int | None
    # The heads that together align best with words, boxes or times, or None if none were chosen.
    best: BestAlignment | None = None
    # Layer and head, from 0, whose attention points best, or None if none was chosen.
    pointing_head: tuple[int, int] | None = None

    @property
    def entries(self) -> dict[str, Any]:
        """Its entry in card.json."""
        head = "all" if self.head is None else self.head
        found: dict[str, Any] = {"reading": self.reading, "layer": self.layer, "head": head}
        if self.best is not None:
            found["best"] = self.best.entries
        if self.pointing_head is not None:
            found["pointing_head"] = list(self.pointing_head)
        return found


def parse_opening(value: Any, name: str) -> Opening:
    """Convert JSON to an opening.

    Args:
        value: An entry of card.json.
        name: The name of the entry, for the error message.

    Raises:
        ValueError: The reading, the layer or a head is invalid.
    """
    names = {"reading", "layer", "head"}
    if not isinstance(value, dict) or value.keys() - {"best", "pointing_head"} != names:
        raise ValueError(f"{name} is not an object with reading, layer and head")
    reading, layer, head = value["reading"], value["layer"], value["head"]
    if reading not in READINGS:
        raise ValueError(f"{name}: reading is none of {', '.join(READINGS)}")
    places = [layer] if head == "all" else [layer, head]
    if any(type(place) is not int or place < 0 for place in places):
        raise ValueError(f"{name}: layer or head is not a whole number from 0 on")
    best = read_best_alignment(value["best"]) if "best" in value else None
    pointing = _parse_place(value["pointing_head"], name) if "pointing_head" in value else None
    return Opening(reading, layer, None if head == "all" else head, best, pointing)


def _parse_place(value: Any, name: str) -> tuple[int, int]:
    """Convert JSON to a layer and a head. Raise ValueError for anything else."""
    is_list = isinstance(value, list) and len(value) == 2
    if not is_list or any(type(one) is not int or one < 0 for one in value):
        raise ValueError(f"{name}: pointing_head is not a list of layer and head")
    return value[0], value[1]
