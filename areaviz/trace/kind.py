"""A description of one kind of input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from areaviz.trace.record import Field
from areaviz.trace.request import Request


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of field, with its names and its check."""

    # The value of `Field.kind`.
    name: str
    # Noun for its items.
    items: str
    # Number of integers per anchor.
    anchor: int
    # Function that returns the problem of a request's field, as in "has anchors outside its 9
    # characters", or "" if there is none.
    problem: Callable[[Field, Request], str]
    # Example text of a request with such an input. "" for pictures, sounds and clips.
    example: str = ""
    # True if anchors are the start and end of each item in `Field.raw`, in characters.
    in_text: bool = False
    # Template that names an item in a sentence, with {} for its label. "" if items are not named
    # one by one.
    named: str = ""
    # Note for users who hide items one by one. "" if items of this kind are hidden in another way.
    hidden: str = ""
    # Names of sites that attend to such a field, if they differ from the names for pictures.
    sites: Mapping[str, str] = field(default_factory=dict)
