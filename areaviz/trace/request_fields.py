"""The fields of a request, as documents and links write them.

A new field of `Request` is one line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from areaviz.trace.limits import AREA_SIZES, BEAMS, SEEDS
from areaviz.trace.medium import Medium
from areaviz.trace.request import MEDIA, Request


@dataclass(frozen=True, slots=True)
class RequestField:
    """One field of a request."""

    # The name in `Request` and in documents.
    name: str
    # The type of the value: str, int or bool, tuple for changes, or `Medium`.
    kind: type
    # The name in links, if it differs from `name`.
    parameter: str = ""
    # The smallest and largest number in a link.
    limits: tuple[int, int] = (0, 0)
    # The first version whose documents must have the field, or 0 if it is always optional.
    since: int = 1

    @property
    def default(self) -> Any:
        """The value that links and older documents leave out."""
        return getattr(Request("", ""), self.name)


REQUEST_FIELDS = (
    RequestField("model", str),
    RequestField("text", str),
    RequestField("method", str),
    RequestField("beam", int, limits=BEAMS),
    RequestField("area_size", int, "area", AREA_SIZES),
    RequestField("seed", int, limits=SEEDS),
    *(RequestField(name, Medium, since=2 if name == "picture" else 0) for name in MEDIA),
    RequestField("sample", bool, since=2),
    RequestField("target", str, since=3),
    RequestField("changes", tuple, since=3),
    RequestField("attribution", bool, since=0),
)
"""Every field, in the order of a link's parameters."""
