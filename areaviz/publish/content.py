"""Content of a page: interactive maps, still figures of all other maps, and the opening selection.

A map that a component can show is a `Place`. Each of its layers is sent as a `Payload`; a page in a
file contains all of them. Maps without a component are drawn as still figures (`figures.py`).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from areaviz.drawing.select import fits_spans
from areaviz.drawing.sites import site_name, sites
from areaviz.interactive.grid import fits as grid_fits
from areaviz.interactive.grid import grid_payload
from areaviz.interactive.hops import hops_payload
from areaviz.interactive.looks import WHAT, looks_payload
from areaviz.interactive.message import pack
from areaviz.interactive.points import first_step, points_payload
from areaviz.interactive.ribbon import ribbon_payload
from areaviz.publish.options import PageOptions
from areaviz.trace.check import check_focus
from areaviz.trace.errors import InputError
from areaviz.trace.query import words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

KINDS = ("grid", "looks", "ribbon", "points", "hops")
"""Components of a page, in order: attention to a picture comes before attention to text."""
EDITED: Mapping[str, str] = {"points": "points", "facts": "hops"}
"""The components in which readers edit what a model reads, by the kind of the memory's field."""
MOST_HEADS = 16_384
"""Limit for all maps and layers of a page together: a small file can declare a million heads."""


@dataclass(frozen=True, slots=True)
class Place:
    """A map that is interactive in a page.

    Args:
        kind: the component that shows it, one of `KINDS`.
        name: the displayed name of its attention type.
        query, memory: the names of its fields.
        layers: the layers in the page, 0-based.
    """

    site: str
    kind: str
    name: str
    query: str
    memory: str
    layers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Payload:
    """The data of one map and layer for a component.

    Args:
        data: the message (`areaviz.interactive.message.pack`) without the picture, deflated and
            encoded in base64.
    """

    site: str
    layer: int
    data: str


def kind_of(trace: Trace, site: str, is_live: bool = False) -> str:
    """Return the component that can show a map, "" if none can.

    Args:
        trace: the trace.
        site: the map.
        is_live: whether the page runs the model, so that readers can edit what it reads.
    """
    focus = Focus(site)
    if site not in trace.maps:
        return "looks" if is_live and site in WHAT else ""
    memory = trace.fields[trace.maps[site].memory].kind
    if is_live and memory in EDITED:
        return EDITED[memory]
    if grid_fits(trace, focus):
        return "grid"
    return "ribbon" if fits_spans(trace, focus) else ""


def wanted_sites(trace: Trace, options: PageOptions) -> list[str]:
    """Return the sites in the options, or all; raise InputError if the trace lacks one of them."""
    there = sites(trace)
    for site in options.sites:
        if site not in there:
            raise InputError(
                f'This trace has no site "{site}"; choose some of: {", ".join(there)}.'
            )
    return [site for site in there if site in (options.sites or there)]


def places(trace: Trace, options: PageOptions, is_live: bool = False) -> list[Place]:
    """Return the maps that are interactive, each with the layers in the options.

    Args:
        trace: the trace.
        options: the options of the page.
        is_live: see `kind_of`.

    Raises:
        InputError: the trace lacks a chosen site or all chosen layers, or has too many heads.
    """
    found = []
    heads = 0
    for site in wanted_sites(trace, options):
        kind = kind_of(trace, site, is_live)
        if not kind:
            continue
        one = trace.maps.get(site)
        if one is None:
            gaze = trace.gazes[site]
            name = site_name(trace, site)
            found.append(Place(site, kind, name, gaze.query, gaze.memory, (0,)))
            continue
        layers = tuple(n for n in range(one.layers) if not options.layers or n in options.layers)
        if not layers:
            raise InputError(
                f'The site "{site}" has {one.layers:,} layers but none of those asked for; choose'
                " some of them."
            )
        if kind == "hops":
            # The component shows all hops together.
            layers = layers[-1:]
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
    """Return all payloads of a page after estimating their size.

    Args:
        trace: the trace.
        shown: the interactive maps.
        options: the options of the page.
        taken: bytes of the page without payloads.

    Raises:
        InputError: the page would exceed its size limit.
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
    """Return one layer of each map, with which the page opens; other layers load on demand.

    This is the layer of the opening selection. It is the last layer if the map lacks that layer or
    belongs to another component.

    Args:
        trace: the trace.
        shown: the interactive maps.
        options: the options of the page.
        opening: the selection with which the page opens.
        taken: bytes of the page without payloads.

    Raises:
        InputError: the page would exceed its size limit.
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
    """Return the payload of the first layer of each map.

    Args:
        trace: the trace.
        shown: the interactive maps.
        options: the options of the page.
        taken: bytes of the page without payloads.

    Raises:
        InputError: the page would exceed its size limit if all layers were this large.
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
    """Return the data of one layer for the component of a map."""
    focus = Focus(place.site, layer)
    message: dict[str, Any]
    if place.kind == "points":
        message = points_payload(trace, focus)
        message["header"]["step"] = first_step(trace)
    elif place.kind == "hops":
        message = hops_payload(trace, focus)
    elif place.kind == "looks":
        message = looks_payload(trace, focus)
    else:
        build = grid_payload if place.kind == "grid" else ribbon_payload
        message = build(trace, focus, options.areas)
    # The page already contains the picture as an image.
    arrays = {name: values for name, values in message["arrays"].items() if name != "picture"}
    packed = zlib.compress(pack(message["header"], arrays), 9)
    return Payload(place.site, layer, base64.b64encode(packed).decode())


def opening_focus(trace: Trace, shown: Sequence[Place], focus: Focus | None) -> Focus | None:
    """Return the selection with which a page opens; None if no map is interactive.

    Without a given selection it is the last layer of the first map, with the longest word that has
    attention selected, or else the first item.

    Raises:
        InputError: the selection is not in the trace or not in the page.
    """
    if focus is None:
        return _first_focus(trace, shown[0]) if shown else None
    if focus.site in trace.gazes:
        is_shown = any(focus.site == place.site for place in shown)
        return Focus(focus.site) if is_shown else None
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
    """Return the opening selection as plain values for the page's script."""
    opening = opening_focus(trace, shown, focus)
    return None if opening is None else plain_focus(opening)


def longest_word(field: Field, allowed: Container[int] | None = None) -> tuple[int, ...]:
    """Return the items of a text's longest word without surrounding punctuation.

    The first of several words counts. The result is () if the field is not text or has no word.

    Args:
        field: the text.
        allowed: items of which the word must have at least one; None for all.
    """
    longest: tuple[int, ...] = ()
    length = 0
    for start, end in words(field) if field.kind == "text" else ():
        texts = [field.raw[first:last] for first, last in field.anchors[start:end].tolist()]
        lettered = [item for item, text in enumerate(texts) if any(map(str.isalnum, text))]
        is_allowed = allowed is None or any(item in allowed for item in range(start, end))
        if lettered and is_allowed:
            trimmed = range(lettered[0], lettered[-1] + 1)
            size = sum(len(texts[item]) for item in trimmed)
            if size > length:
                longest = tuple(start + item for item in trimmed)
                length = size
    return longest


def _first_focus(trace: Trace, place: Place) -> Focus:
    if place.site in trace.gazes:
        return Focus(place.site)
    field = trace.fields[place.query]
    # Select something even if the output has no words.
    first = (0,) if field.kind == "text" and len(field) else ()
    # Words before a picture attend to none of it.
    weights_HQA = trace.maps[place.site].weights[place.layers[-1]]
    attending = set(np.flatnonzero(np.asarray(weights_HQA).any(axis=(0, 2))).tolist())
    word = longest_word(field, attending) or longest_word(field)
    return Focus(place.site, place.layers[-1], items=word or first)


def plain_focus(focus: Focus) -> dict[str, Any]:
    """Return a selection as plain values for the page's script."""
    selection = asdict(focus)
    site, layer = selection.pop("site"), selection.pop("layer")
    return {"site": site, "layer": layer, "selection": {**selection, "items": list(focus.items)}}
