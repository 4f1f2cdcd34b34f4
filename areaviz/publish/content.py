"""What a page carries of a trace: sites that can be pointed at, figures of the rest, its start.

A site that a component can show is a `Place`; a layer of it travels as a `Payload`, all of them in
a page that stands alone. What no component can show is drawn as for print (`figures.py`).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from areaviz.drawing.select import fits_spans
from areaviz.drawing.sites import site_name, sites
from areaviz.interactive.grid import fits as grid_fits
from areaviz.interactive.grid import grid_payload
from areaviz.interactive.message import pack
from areaviz.interactive.ribbon import ribbon_payload
from areaviz.publish.options import PageOptions
from areaviz.trace.check import check_focus
from areaviz.trace.errors import InputError
from areaviz.trace.query import words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

KINDS = ("grid", "ribbon")
"""The components a page may have: attention to the picture comes before attention to a text."""
MOST_HEADS = 16_384
"""Of all sites and layers of a page together: a file of some kilobytes may have a million."""


@dataclass(frozen=True, slots=True)
class Place:
    """A site that can be pointed at in a page.

    Args:
        kind: the component that shows it, one of `KINDS`.
        name: of the site, in words.
        query, memory: names of its fields.
        layers: those the page carries, 0-based.
    """

    site: str
    kind: str
    name: str
    query: str
    memory: str
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Payload:
    """What a component gets of one site and layer.

    Args:
        data: the message (`areaviz.interactive.message.pack`) without the picture, deflated, in
            base64.
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
    return "ribbon" if fits_spans(trace, focus) else ""


def wanted_sites(trace: Trace, options: PageOptions) -> list[str]:
    """The sites that the options name, or all; raises InputError for one the trace lacks."""
    there = sites(trace)
    for site in options.sites:
        if site not in there:
            raise InputError(
                f'This trace has no site "{site}"; choose some of: {", ".join(there)}.'
            )
    return [site for site in there if site in (options.sites or there)]


def places(trace: Trace, options: PageOptions) -> list[Place]:
    """The sites that can be pointed at, each with the layers that the options name.

    Raises:
        InputError: the trace lacks a site, or every layer, that is named, or there are too many
            heads.
    """
    found = []
    heads = 0
    for site in wanted_sites(trace, options):
        kind = kind_of(trace, site)
        if not kind:
            continue
        one = trace.maps[site]
        layers = tuple(n for n in range(one.layers) if not options.layers or n in options.layers)
        if not layers:
            raise InputError(
                f'The site "{site}" has {one.layers:,} layers but none of those asked for; choose'
                " some of them."
            )
        heads += len(layers) * one.heads
        found.append(Place(site, kind, site_name(trace, site), one.query, one.memory, layers))
    if heads > MOST_HEADS:
        raise InputError(
            f"The page would have {heads:,} heads but at most {MOST_HEADS:,} are possible; carry"
            " fewer layers or sites."
        )
    return found


def payloads(
    trace: Trace, shown: Sequence[Place], options: PageOptions, taken: int
) -> list[Payload]:
    """All payloads of a page, after a guess that they fit.

    Args:
        taken: bytes of the page without them.

    Raises:
        InputError: the page would be larger than the limit.
    """
    first = first_payloads(trace, shown, options, taken)
    found: list[Payload] = []
    for place, made in zip(shown, first, strict=True):
        for layer in place.layers:
            found.append(made if layer == made.layer else payload(trace, place, layer, options))
            taken += len(found[-1].data)
            _check_size(taken, options.limit, "more than")
    return found


def opening_payloads(
    trace: Trace,
    shown: Sequence[Place],
    options: PageOptions,
    opening: Focus | None,
    taken: int,
) -> list[Payload]:
    """One layer of each site, as the page's script begins with it; the rest on demand.

    That is the layer a page opens with, or the last one where the site has no such layer or is
    shown by another component.

    Args:
        opening: where the page opens.
        taken: bytes of the page without them.

    Raises:
        InputError: the page would be larger than the limit.
    """
    found = []
    kinds = {place.site: place.kind for place in shown}
    for place in shown:
        layer = place.layers[-1]
        if opening is not None and kinds.get(opening.site) == place.kind:
            layer = opening.layer if opening.layer in place.layers else layer
        found.append(payload(trace, place, layer, options))
        taken += len(found[-1].data)
    _check_size(taken, options.limit, "about")
    return found


def first_payloads(
    trace: Trace, shown: Sequence[Place], options: PageOptions, taken: int
) -> list[Payload]:
    """The payload of the first layer of each site.

    Raises:
        InputError: if other layers are as large, the page would be larger than the limit.
    """
    found = [payload(trace, place, place.layers[0], options) for place in shown]
    for place, made in zip(shown, found, strict=True):
        taken += len(made.data) * len(place.layers)
    _check_size(taken, options.limit, "about")
    return found


def _check_size(size: int, limit: int, about: str) -> None:
    if size > limit:
        raise InputError(
            f"The page would take {about} {size / 2**20:,.1f} MiB but at most {limit / 2**20:,.4g}"
            " MiB are allowed; carry fewer layers, sites or areas, or allow more by its limit."
        )


def payload(trace: Trace, place: Place, layer: int, options: PageOptions) -> Payload:
    """What the component of a place gets of a layer."""
    build = grid_payload if place.kind == "grid" else ribbon_payload
    message: dict[str, Any] = build(trace, Focus(place.site, layer), options.areas)
    # The page has the picture already, as an image of its own.
    arrays = {name: values for name, values in message["arrays"].items() if name != "picture"}
    packed = zlib.compress(pack(message["header"], arrays), 9)
    return Payload(place.site, layer, base64.b64encode(packed).decode())


def opening_focus(trace: Trace, shown: Sequence[Place], focus: Focus | None) -> Focus | None:
    """Where a page opens; None where nothing can be pointed at.

    Without a focus it is the last layer of the first place, with the longest word lit that attends,
    or else the first item.

    Raises:
        InputError: the focus asks for what the trace, or the page, does not have.
    """
    if focus is None:
        return _first_focus(trace, shown[0]) if shown else None
    if focus.site in trace.gazes:
        return None
    check_focus(trace, focus)
    if not any(focus.site == place.site and focus.layer in place.layers for place in shown):
        raise InputError(
            f'The page cannot open at layer {focus.layer + 1} of "{focus.site}", which it does not'
            " carry; carry that layer and site too, or open it elsewhere."
        )
    return focus


def initial_focus(
    trace: Trace, shown: Sequence[Place], focus: Focus | None
) -> dict[str, Any] | None:
    """The same in plain values for the page's script."""
    opening = opening_focus(trace, shown, focus)
    return None if opening is None else plain_focus(opening)


def longest_word(field: Field) -> tuple[int, ...]:
    """The items of a text's longest word, the first of several, without signs at its ends.

    There are none where the field is no text or has no word.
    """
    longest: tuple[int, ...] = ()
    length = 0
    for start, end in words(field) if field.kind == "text" else ():
        texts = [field.raw[first:last] for first, last in field.anchors[start:end].tolist()]
        lettered = [item for item, text in enumerate(texts) if any(map(str.isalnum, text))]
        if lettered:
            trimmed = range(lettered[0], lettered[-1] + 1)
            size = sum(len(texts[item]) for item in trimmed)
            if size > length:
                longest = tuple(start + item for item in trimmed)
                length = size
    return longest


def _first_focus(trace: Trace, place: Place) -> Focus:
    field = trace.fields[place.query]
    # An output without words still shows something.
    first = (0,) if field.kind == "text" and len(field) else ()
    return Focus(place.site, place.layers[-1], items=longest_word(field) or first)


def plain_focus(focus: Focus) -> dict[str, Any]:
    """Return a focus in plain values, as the page's script has it."""
    selection = asdict(focus)
    site, layer = selection.pop("site"), selection.pop("layer")
    return {"site": site, "layer": layer, "selection": {**selection, "items": list(focus.items)}}
