"""What the components of a page are told: every layer of every site, packed, and never more than
the page may hold.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz.drawing.select import fits_text
from areaviz.drawing.sites import site_name, sites
from areaviz.interactive.grid import fits as grid_fits
from areaviz.interactive.grid import grid_payload
from areaviz.interactive.message import pack
from areaviz.interactive.ribbon import ribbon_payload
from areaviz.publish.options import PageOptions
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

KINDS = ("grid", "ribbon")
"""The components a page may have, in this order: what attends to the picture comes before what
attends to a text.
"""


MOST_HEADS = 16_384
"""Of all sites and layers of a page together: a file of some kilobytes may have a million."""


@dataclass(frozen=True, slots=True)
class Place:
    """A site that a page shows: the component that shows it, its name in words, its fields, its
    layers (0-based).
    """

    site: str
    kind: str
    name: str
    query: str
    memory: str
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a component is told of one site and layer.

    data: the message (`areaviz.interactive.message.pack`), deflated, in base64; the picture is not
    part of it.
    """

    site: str
    layer: int
    data: str


def kind_of(trace: Trace, site: str) -> str:
    """The component that can show a site, "" for none."""
    focus = Focus(site)
    if site not in trace.maps:
        return ""
    if grid_fits(trace, focus):
        return "grid"
    return "ribbon" if fits_text(trace, focus) and trace.maps[site].grid.height == 1 else ""


def wanted_sites(trace: Trace, options: PageOptions) -> list[str]:
    """The sites that were asked for, or all; raises InputError for one the trace does not have."""
    there = sites(trace)
    for site in options.sites:
        if site not in there:
            raise InputError(
                f'This trace has no site "{site}"; choose some of: {", ".join(there)}.'
            )
    return [site for site in there if site in (options.sites or there)]


def places(trace: Trace, options: PageOptions) -> list[Place]:
    """The sites that can be pointed at, each with the layers that were asked for.

    Raises:
        InputError: the trace lacks a site, or every layer, that was asked for, or there are too
            many heads.
    """
    found = []
    for site in wanted_sites(trace, options):
        if kind := kind_of(trace, site):
            attention = trace.maps[site]
            layers = _layers(site, attention.layers, options.layers)
            found.append(
                Place(site, kind, site_name(trace, site), attention.query, attention.memory, layers)
            )
    heads = sum(len(place.layers) * trace.maps[place.site].heads for place in found)
    if heads > MOST_HEADS:
        raise InputError(
            f"The page would have {heads:,} heads but at most {MOST_HEADS:,} are possible; carry"
            " fewer layers or sites."
        )
    return found


def _layers(site: str, count: int, wanted: Sequence[int]) -> tuple[int, ...]:
    layers = tuple(layer for layer in range(count) if layer in (wanted or range(count)))
    if not layers:
        raise InputError(
            f'The site "{site}" has {count:,} layers but none of those asked for; choose some of'
            " them."
        )
    return layers


def sheets(trace: Trace, shown: Sequence[Place], options: PageOptions, taken: int) -> list[Sheet]:
    """All sheets, after a guess that they fit; taken: bytes of the page without them.

    Raises:
        InputError: the page would be larger than the limit.
    """
    first = first_sheets(trace, shown, options, taken)
    found: list[Sheet] = []
    for sheet in _all(trace, shown, first, options):
        found.append(sheet)
        taken += len(sheet.data)
        _check_size(taken, options.limit, "more than ")
    return found


def first_sheets(
    trace: Trace, shown: Sequence[Place], options: PageOptions, taken: int
) -> dict[str, Sheet]:
    """The sheet of the first layer of each site; InputError where, by them, the page would be
    larger than the limit.
    """
    first = {place.site: _sheet(trace, place, place.layers[0], options) for place in shown}
    size = taken + sum(len(first[place.site].data) * len(place.layers) for place in shown)
    _check_size(size, options.limit, "about ")
    return first


def _all(
    trace: Trace, shown: Sequence[Place], first: dict[str, Sheet], options: PageOptions
) -> Iterator[Sheet]:
    for place in shown:
        yield first[place.site]
        for layer in place.layers[1:]:
            yield _sheet(trace, place, layer, options)


def _check_size(size: int, limit: int, about: str) -> None:
    if size > limit:
        raise InputError(
            f"The page would take {about}{size / 2**20:,.1f} MiB but at most {limit / 2**20:,.4g}"
            " MiB are allowed; carry fewer layers, sites or areas, or allow more by its limit."
        )


def _sheet(trace: Trace, place: Place, layer: int, options: PageOptions) -> Sheet:
    build = grid_payload if place.kind == "grid" else ribbon_payload
    payload: dict[str, Any] = build(trace, Focus(place.site, layer), options.areas)
    arrays = {name: values for name, values in payload["arrays"].items() if name != "picture"}
    message = zlib.compress(pack(payload["header"], arrays), 9)
    return Sheet(place.site, layer, base64.b64encode(message).decode("ascii"))
