"""Interventions and item positions as text, for links and files.

    weigh:encoder-decoder:items=3-5:layer=2;hide:source:items=1-4

Changes are separated by ";" and their parts by ":". A change starts with its kind and its site or
field, followed by the options that differ from their defaults. Layers, heads, queries, items, and
the top and left of an area count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from areaviz.trace.areas import Area
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import (
    KINDS,
    Change,
    Hide,
    Share,
    check_changes,
    check_total,
    name_kind,
)
from areaviz.trace.limits import MAX_CHANGES, MAX_POSITION, shorten

# Maximum length of a text to read. The longest valid changes need fewer characters.
MAX_LETTERS = 400_000
# The options of a change in the order in which they are written, with their defaults.
_PARTS: Mapping[str, Any] = {
    "items": (),
    "areas": (),
    "factor": None,
    "layer": None,
    "head": None,
    "query": None,
    "rest": False,
    "smooth": False,
    "window": 0,
}
_NAME = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_FACTOR = re.compile(r"[0-9]{1,3}(\.[0-9]{1,20})?(e-[0-9]{1,3})?")
_AREA = re.compile(r"([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})")
_ITEMS = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*")


def to_text(changes: Sequence[Change]) -> str:
    """Return all changes as one line, or "" if there are none."""
    return ";".join(":".join(_iterate_parts(change)) for change in changes)


def from_text(text: str) -> tuple[Change, ...]:
    """Parse changes from a line that `to_text` wrote.

    Raises:
        InputError: The line cannot be parsed, or `check_changes` refuses a change.
    """
    if len(text) > MAX_LETTERS:
        raise InputError(
            f"The changes have {len(text):,} characters, but the limit is {MAX_LETTERS:,}. Remove"
            " some."
        )
    parts = list(filter(None, text.split(";")))
    if len(parts) > MAX_CHANGES:
        raise InputError(
            f"{len(parts):,} changes were requested, but the limit is {MAX_CHANGES:,}. Remove some."
        )
    changes: list[Change] = []
    for part in parts:
        changes.append(_parse_change(part))
        check_changes(changes[-1:])
        check_total(changes)
    return tuple(changes)


def format_ranges(items: Sequence[int]) -> str:
    """Return items as text with ranges, in the order given: (2, 3, 4, 11) is "3-5,12"."""
    ranges = []
    for _, group in groupby(enumerate(items, start=1), lambda pair: pair[1] - pair[0]):
        run = [item + 1 for _, item in group]
        ranges.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}")
    return ",".join(ranges)


def parse_ranges(text: str, name: str = "items") -> Iterator[int]:
    """Yield the positions (from 0) of a list such as "3-5,12". The list "" is empty.

    Args:
        text: The list. Ranges beyond `MAX_POSITION` are never expanded.
        name: Name of the list in error messages.

    Raises:
        InputError: The text is not a list of positions, or it has too many.
    """
    if text and not _ITEMS.fullmatch(text):
        raise InputError(
            f'"{name}" is "{shorten(text)}" but must be positions such as 3-7,12. Correct or'
            " remove it."
        )
    left = MAX_POSITION
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        start, stop = int(first), int(last or first)
        left -= stop - start + 1
        if not 1 <= start <= stop <= MAX_POSITION or left < 0:
            raise InputError(
                f'"{name}" has "{part}" but positions must increase, from 1 to'
                f" {MAX_POSITION:,}. Correct or remove it."
            )
        yield from range(start - 1, stop)


def _iterate_parts(change: Change) -> Iterator[str]:
    yield name_kind(change)
    yield change.field if isinstance(change, Hide) else change.site
    for part, default in _PARTS.items():
        value: Any = getattr(change, part, default)
        if value == (default if part != "factor" else _get_default_factor(change)):
            continue
        if part == "items":
            text = format_ranges(value)
        elif part == "areas":
            text = ",".join(f"{a.top + 1}.{a.left + 1}.{a.height}.{a.width}" for a in value)
        else:
            counts_from_1 = part in ("layer", "head", "query")
            text = repr(float(value)) if part == "factor" else str(int(value) + counts_from_1)
        yield f"{part}={text}"


def _get_default_factor(change: Change) -> float | None:
    """Return the default factor of a change of this kind."""
    if isinstance(change, Hide):
        return None
    return 1.0 if isinstance(change, Share) else 0.0


def _parse_change(text: str) -> Change:
    kind, _, after = text.partition(":")
    name, *options = after.split(":")
    if kind not in KINDS or not _NAME.fullmatch(name):
        raise InputError(
            f'"{shorten(text)}" is not a valid change. A change starts with weigh, gate, hide'
            " or share and names a site."
        )
    given: dict[str, Any] = {}
    for option in options:
        part, _, value = option.partition("=")
        if part in given or part not in _PARTS or part not in KINDS[kind].__dataclass_fields__:
            raise InputError(
                f'The change "{shorten(text)}" has a part that a change of its kind lacks.'
                " Correct or remove it."
            )
        given[part] = _parse_option(part, value)
    return KINDS[kind](name, **given)


def _parse_option(part: str, text: str) -> object:
    """Return the value of an option."""
    if part == "items":
        return tuple(parse_ranges(text))
    if part == "areas":
        return tuple(map(_parse_area, filter(None, text.split(","))))
    if part in ("rest", "smooth"):
        return text == "1"
    if part == "factor":
        if not _FACTOR.fullmatch(text):
            raise InputError(
                f'A change has the factor "{shorten(text)}" but it must be a number such as'
                " 0.5. Correct it."
            )
        return float(text)
    if not _NUMBER.fullmatch(text) or int(text) > MAX_POSITION:
        raise InputError(
            f'A change has the {part} "{shorten(text)}" but the first one is 1. Choose a'
            " number from 1 on."
        )
    return int(text) if part == "window" else int(text) - 1


def _parse_area(text: str) -> Area:
    found = _AREA.fullmatch(text)
    if not found:
        raise InputError(
            f'A change has the area "{shorten(text)}" but areas are written as 1.3.1.2. Correct it.'
        )
    top, left, height, width = map(int, found.groups())
    return Area(top - 1, left - 1, height, width)
