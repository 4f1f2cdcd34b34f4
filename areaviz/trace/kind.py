"""What the program knows about one kind of input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from areaviz.trace.record import Field
from areaviz.trace.request import Request


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of field."""

    # The value of `Field.kind`.
    name: str
    # What its items are called.
    items: str
    # Number of integers per anchor.
    anchor: int
    # Returns what is wrong with a field of a request, as in "The field has ...", or "" if nothing
    # is.
    problem: Callable[[Field, Request], str]
    # A text of a request that has such an input. "" for pictures, sounds and clips.
    example: str = ""
    # Whether anchors are the start and end of each item in `Field.raw`, in characters.
    in_text: bool = False
    # How a sentence names an item, with {} for its label. "" if items are not named one by one.
    named: str = ""
    # What users should know when they hide items one by one. "" if they hide them in another way.
    hidden: str = ""
    # Names of sites that attend to such a field, where they differ from those of pictures.
    sites: Mapping[str, str] = field(default_factory=dict)
