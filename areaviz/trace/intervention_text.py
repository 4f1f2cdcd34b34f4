"""Changes as text, for links and files:
"weigh:encoder-decoder:items=3-5:layer=2;hide:source:items=1-4".

Changes are parted by ";", their parts by ":": the kind, the site or field, then what differs from
its default. Layers, heads, queries, items and an area's top and left count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from areaviz.trace.areas import Area
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import (
    KINDS,
    Change,
    Gate,
    Hide,
    Weigh,
    check_changes,
    check_total,
    kind_of,
)
from areaviz.trace.limits import MAX_CHANGES, MAX_POSITION, shown
from areaviz.trace.positions import packed, unpacked

MAX_LETTERS = 400_000
"""Of a text that is read; the longest changes that are possible are written in less."""

_NAME = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_FACTOR = re.compile(r"[0-9]{1,3}(\.[0-9]{1,20})?(e-[0-9]{1,3})?")
_AREA = re.compile(r"([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})")
_PARTS = {
    "weigh": ("items", "areas", "factor", "layer", "head", "query", "rest"),
    "gate": ("factor", "layer", "head"),
    "hide": ("items",),
}


def to_text(changes: Sequence[Change]) -> str:
    """All changes as one line; "" for none."""
    return ";".join(":".join(_parts(change)) for change in changes)


def from_text(text: str) -> tuple[Change, ...]:
    """The changes of such a line.

    Raises:
        InputError: it cannot be read, or asks for what `check_changes` refuses.
    """
    if len(text) > MAX_LETTERS:
        raise InputError(
            f"The changes have {len(text):,} characters, at most {MAX_LETTERS:,} are read; drop"
            " some."
        )
    parts = list(filter(None, text.split(";")))
    if len(parts) > MAX_CHANGES:
        raise InputError(
            f"{len(parts):,} changes are asked for but at most {MAX_CHANGES:,} are possible; drop"
            " some."
        )
    changes: list[Change] = []
    for part in parts:
        changes.append(_change(part))
        check_changes(changes[-1:])
        check_total(changes)
    return tuple(changes)


def _parts(change: Change) -> Iterator[str]:
    yield kind_of(change)
    yield change.field if isinstance(change, Hide) else change.site
    if not isinstance(change, Gate) and change.items:
        yield f"items={packed(change.items)}"
    if isinstance(change, Hide):
        return
    if isinstance(change, Weigh) and change.areas:
        yield "areas=" + ",".join(
            f"{a.top + 1}.{a.left + 1}.{a.height}.{a.width}" for a in change.areas
        )
    if change.factor != 0:
        yield f"factor={float(change.factor)!r}"
    for name in ("layer", "head", "query"):
        if (value := getattr(change, name, None)) is not None:
            yield f"{name}={value + 1}"
    if isinstance(change, Weigh) and change.rest:
        yield "rest=1"


def _change(text: str) -> Change:
    kind, _, after = text.partition(":")
    name, *options = after.split(":")
    if kind not in KINDS or not _NAME.fullmatch(name):
        raise InputError(
            f'"{shown(text)}" is no change; it must begin with weigh, gate or hide and name a site.'
        )
    given = dict(option.partition("=")[::2] for option in options)
    stray = next((part for part in given if part not in _PARTS[kind]), None)
    if stray is not None or len(given) < len(options):
        raise InputError(
            f'The change "{shown(text)}" has a part that a change of its kind lacks; mend or'
            " remove it."
        )
    if kind == "hide":
        return Hide(name, tuple(unpacked(given.get("items", ""))))
    layer, head, factor = _number(given, "layer"), _number(given, "head"), _factor(given)
    if kind == "gate":
        return Gate(name, layer, head, factor)
    items, areas = tuple(unpacked(given.get("items", ""))), tuple(_areas(given.get("areas", "")))
    return Weigh(
        name, items, areas, factor, layer, head, _number(given, "query"), given.get("rest") == "1"
    )


def _number(given: dict[str, str], name: str) -> int | None:
    if name not in given:
        return None
    if not _NUMBER.fullmatch(given[name]) or int(given[name]) > MAX_POSITION:
        raise InputError(
            f'A change has the {name} "{shown(given[name])}" but these count from 1; choose a'
            " number."
        )
    return int(given[name]) - 1


def _factor(given: dict[str, str]) -> float:
    text = given.get("factor", "0")
    if not _FACTOR.fullmatch(text):
        raise InputError(
            f'A change has the factor "{shown(text)}" but it must be a number such as 0.5; mend it.'
        )
    return float(text)


def _areas(text: str) -> Iterator[Area]:
    for part in filter(None, text.split(",")):
        found = _AREA.fullmatch(part)
        if not found:
            raise InputError(
                f'A change has the area "{shown(part)}" but areas are written as 1.3.1.2; mend it.'
            )
        top, left, height, width = map(int, found.groups())
        yield Area(top - 1, left - 1, height, width)
