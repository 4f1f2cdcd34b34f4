"""A request and a focus as URL parameters, so that every view is a link.

In a link, layers, heads and items count from 1, as on the page. In the records they count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from areaviz.trace.errors import InputError
from areaviz.trace.intervention_text import format_ranges, from_text, parse_ranges, to_text
from areaviz.trace.limits import (
    AGAINST,
    AREA_SIZES,
    AREAS,
    BEAMS,
    MASSES,
    MAX_POSITION,
    READINGS,
    SEEDS,
    SIDES,
    UNITS,
    check_range,
    check_text,
    choice,
    shorten,
)
from areaviz.trace.picture import NAME
from areaviz.trace.request import Focus, Request, check_options

_SITE = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_OF_FOCUS = ("layer", "head", "side", "items", "unit", "areas", "read", "mass", "against")
_NUMBER = re.compile(r"-?[0-9]{1,10}")


def to_params(request: Request, focus: Focus | None = None) -> dict[str, str]:
    """Return the URL parameters that restore a request and a focus, without default values.

    The names for a request are: model, text, method, beam, area, seed, picture, sound, clip,
    sample, target, changes, attribution. The names for a focus are: site, layer, head, side, items
    ("3-7,12"), unit, areas, read (the display), mass (in per cent), against.
    """
    given: dict[str, tuple[object, object]] = {
        "text": (request.text, ""),
        "method": (request.method, "greedy"),
        "beam": (request.beam, 4),
        "area": (request.area_size, None),
        "seed": (request.seed, 0),
        "picture": (request.picture and request.picture.name, None),
        "sound": (request.sound and request.sound.name, None),
        "clip": (request.clip and request.clip.name, None),
        "sample": (int(request.sample), 0),
        "target": (request.target, None),
        "changes": (to_text(request.changes), ""),
        "attribution": (int(request.attribution), 0),
    }
    if focus is not None:
        given |= {
            "site": (focus.site, None),
            "layer": (focus.layer + 1, 1),
            "head": (None if focus.head is None else focus.head + 1, None),
            "side": (focus.side, "query"),
            "items": (format_ranges(focus.items), ""),
            "unit": (focus.unit, "item"),
            "areas": (focus.areas, "any"),
            "read": (focus.reading, "heaviest"),
            "mass": (focus.mass, 50),
            "against": (focus.against, "nothing"),
        }
    params = {"model": request.model}
    for name, (value, default) in given.items():
        if value != default:
            params[name] = str(value)
    return params


def from_params(params: Mapping[str, str]) -> tuple[Request, Focus | None]:
    """Parse URL parameters. Unknown names are ignored, and a missing text is an empty text.

    A link contains only the name of a picture: `picture_name` reads it, and the page finds the
    picture.

    Raises:
        InputError: A parameter cannot be used.
    """
    area = _number(params, "area", 0, AREA_SIZES) if "area" in params else None
    request = Request(
        model=params.get("model", ""),
        text=params.get("text", ""),
        method=params.get("method", "greedy"),
        beam=_number(params, "beam", 4, BEAMS),
        area_size=area,
        seed=_number(params, "seed", 0, SEEDS),
        sample=params.get("sample") == "1",
        target=params.get("target"),
        changes=from_text(params.get("changes", "")),
        attribution=params.get("attribution") == "1",
    )
    check_text(request.text)
    check_options(request)
    return request, _focus(params)


def picture_name(params: Mapping[str, str]) -> str | None:
    """Return the name of a link's picture, or None.

    Raises:
        InputError: The name is invalid.
    """
    name = params.get("picture")
    if name is not None and not NAME.fullmatch(name):
        raise InputError(
            f'The link asks for the picture "{shorten(name)}", which cannot exist; choose a'
            " picture."
        )
    return name


def _focus(params: Mapping[str, str]) -> Focus | None:
    """Return the focus of a link, or None if it has none."""
    if "site" not in params:
        for stray in _OF_FOCUS:
            if stray in params:
                raise InputError(
                    f'The link has "{stray}" but no "site"; add the site or remove "{stray}".'
                )
        return None
    if not _SITE.fullmatch(params["site"]):
        raise InputError(
            f'The link asks for the site "{shorten(params["site"])}", which does not exist;'
            " remove it."
        )
    places = (1, MAX_POSITION)
    return Focus(
        site=params["site"],
        layer=_number(params, "layer", 1, places) - 1,
        head=_number(params, "head", 1, places) - 1 if "head" in params else None,
        side=choice("side", params.get("side", "query"), SIDES),
        items=tuple(parse_ranges(params.get("items", ""))),
        unit=choice("unit", params.get("unit", "item"), UNITS),
        areas=choice("areas", params.get("areas", "any"), AREAS),
        reading=choice("read", params.get("read", "heaviest"), READINGS),
        mass=_number(params, "mass", 50, MASSES),
        against=choice("against", params.get("against", "nothing"), AGAINST),
    )


def _number(params: Mapping[str, str], name: str, default: int, limits: tuple[int, int]) -> int:
    """Parse a whole number in plain digits, within `limits`."""
    if name not in params:
        return default
    if not _NUMBER.fullmatch(params[name]):
        raise InputError(
            f'"{name}" is "{shorten(params[name])}" but must be a whole number from {limits[0]} to'
            f" {limits[1]}; choose a number in that range."
        )
    check_range(name, int(params[name]), limits)
    return int(params[name])
