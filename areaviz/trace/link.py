"""A request and a focus as URL parameters, so that every view is a link.

In a link, layers, heads and items count from 1, as on the page. In the records they count from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz.trace.errors import InputError
from areaviz.trace.intervention_text import format_ranges, from_text, parse_ranges, to_text
from areaviz.trace.limits import (
    AGAINST,
    AREAS,
    MASSES,
    MAX_POSITION,
    READINGS,
    SIDES,
    UNITS,
    check_choice,
    check_range,
    check_text,
    shorten,
)
from areaviz.trace.medium import NAME, Medium
from areaviz.trace.request import Focus, Request, check_options
from areaviz.trace.request_fields import REQUEST_FIELDS

_SITE = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_DIGITS = re.compile(r"-?[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Form:
    """Conversion of a value to the text in a link and back."""

    write: Callable[[Any], str]
    # Gets the name of the parameter and its text. Raises InputError.
    read: Callable[[str, str], Any]


def _make_number_form(limits: tuple[int, int], first: int = 0) -> Form:
    """Return the form of a whole number. In a link it has plain digits and counts from `first`."""

    def read(name: str, text: str) -> int:
        if not _DIGITS.fullmatch(text):
            raise InputError(
                f'"{name}" is "{shorten(text)}" but must be a whole number from {limits[0]} to'
                f" {limits[1]}. Choose a number in that range."
            )
        check_range(name, int(text), limits)
        return int(text) - first

    return Form(lambda value: str(value + first), read)


def _make_choice_form(choices: Sequence[str]) -> Form:
    return Form(str, lambda name, text: check_choice(name, text, choices))


def _read_site(name: str, text: str) -> str:
    if not _SITE.fullmatch(text):
        raise InputError(
            f'The link asks for the site "{shorten(text)}", which does not exist. Remove it.'
        )
    return text


_PLACE = _make_number_form((1, MAX_POSITION), first=1)
_FORMS: Mapping[type, Form] = {
    str: Form(str, lambda _, text: text),
    bool: Form(lambda value: str(int(value)), lambda _, text: text == "1"),
    tuple: Form(to_text, lambda _, text: from_text(text)),
    # A link contains only the name. The page finds the picture, sound or clip.
    Medium: Form(lambda medium: str(medium.name), lambda _, text: None),
}
Parameters = Mapping[str, tuple[str, Form]]
"""The field and the form of every parameter."""
REQUEST: Parameters = {
    field.parameter or field.name: (
        field.name,
        _FORMS.get(field.kind) or _make_number_form(field.limits),
    )
    for field in REQUEST_FIELDS
}
FOCUS: Parameters = {
    "site": ("site", Form(str, _read_site)),
    "layer": ("layer", _PLACE),
    "head": ("head", _PLACE),
    "side": ("side", _make_choice_form(SIDES)),
    "items": ("items", Form(format_ranges, lambda _, text: tuple(parse_ranges(text)))),
    "unit": ("unit", _make_choice_form(UNITS)),
    "areas": ("areas", _make_choice_form(AREAS)),
    "read": ("reading", _make_choice_form(READINGS)),
    "mass": ("mass", _make_number_form(MASSES)),
    "against": ("against", _make_choice_form(AGAINST)),
}


def to_params(request: Request, focus: Focus | None = None) -> dict[str, str]:
    """Return the URL parameters that restore a request and a focus, without default values.

    The names are those of `REQUEST` and `FOCUS`. Items are written as "3-7,12".
    """
    params = _write_parameters(REQUEST, request, Request("", ""))
    if focus is not None:
        params |= _write_parameters(FOCUS, focus, Focus(""))
    return params


def from_params(params: Mapping[str, str]) -> tuple[Request, Focus | None]:
    """Parse URL parameters. Unknown names are ignored, and a missing text is an empty text.

    A link contains only the name of a picture: `get_picture_name` reads it, and the page finds the
    picture.

    Raises:
        InputError: A parameter cannot be used.
    """
    request = Request(**{"model": "", "text": "", **_read_parameters(REQUEST, params)})
    check_text(request.text)
    check_options(request)
    return request, _read_focus(params)


def _write_parameters(parameters: Parameters, record: object, default: object) -> dict[str, str]:
    """Return the parameters of the fields that differ from those of a default record."""
    params = {}
    for parameter, (name, form) in parameters.items():
        value = getattr(record, name)
        if value != getattr(default, name):
            params[parameter] = form.write(value)
    return params


def _read_parameters(parameters: Parameters, params: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the fields that a link has."""
    found = {}
    for parameter, (name, form) in parameters.items():
        if parameter in params:
            found[name] = form.read(parameter, params[parameter])
    return found


def get_picture_name(params: Mapping[str, str]) -> str | None:
    """Return the name of a link's picture, or None.

    Raises:
        InputError: The name is invalid.
    """
    name = params.get("picture")
    if name is not None and not NAME.fullmatch(name):
        raise InputError(
            f'The link asks for the picture "{shorten(name)}", which cannot exist. Choose a'
            " picture."
        )
    return name


def _read_focus(params: Mapping[str, str]) -> Focus | None:
    """Return the focus of a link, or None if it has none."""
    if "site" in params:
        return Focus(**_read_parameters(FOCUS, params))
    for stray in FOCUS:
        if stray in params:
            raise InputError(
                f'The link has "{stray}" but no "site". Add the site or remove "{stray}".'
            )
    return None
