"""What is asked (`Request`) and what is looked at (`Focus`): all the state the interface has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from areaviz.trace.errors import InputError

MAX_CODE_POINTS = 4096
METHODS = ("greedy", "beam")


@dataclass(frozen=True, slots=True)
class Request:
    """One example to run.

    model: name of a checkpoint. text: the input. method: "greedy" or "beam"; beam: its width, 1..16.
    area_size: largest area, 1..16 items, or None for the size the model was trained with. seed: for
    models that sample.
    """

    model: str
    text: str
    method: str = "greedy"
    beam: int = 4
    area_size: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Focus:
    """What is being looked at in a trace.

    site: name of an attention map. layer, head: 0-based; head None means all heads. side: "query" when
    `items` are queries (what do they attend to?), "memory" when they are memory items (who attends to
    them?). items: 0-based, possibly several. unit: what the reader points at, "item" (as the model sees
    it) or "word".
    """

    site: str
    layer: int = 0
    head: int | None = None
    side: str = "query"
    items: tuple[int, ...] = ()
    unit: str = "item"


def to_params(request: Request, focus: Focus | None = None) -> dict[str, str]:
    """The address parameters that restore a request and a focus; defaults are left out."""
    raise NotImplementedError  # written by the trace helper


def from_params(params: Mapping[str, str]) -> tuple[Request, Focus | None]:
    """Read address parameters back; raises InputError with one sentence for anything it cannot use."""
    raise InputError("not written yet")
