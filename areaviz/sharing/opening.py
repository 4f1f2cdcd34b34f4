"""Where a page opens: what is shown and lit before anybody points at anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from areaviz.sharing.sheets import Place
from areaviz.trace.errors import InputError
from areaviz.trace.query import words
from areaviz.trace.record import Field, Trace, check_focus
from areaviz.trace.request import Focus


def opening(trace: Trace, shown: Sequence[Place], focus: Focus | None) -> dict[str, Any] | None:
    """The focus as the page's script is told it; without one, the last layer of the first place, its longest word lit.

    Raises:
        InputError: the focus asks for what the trace, or the page, does not have.
    """
    if focus is None:
        return _plain(_first(trace, shown[0])) if shown else None
    if focus.site in trace.gazes:
        return None
    check_focus(trace, focus)
    if not any(focus.site == place.site and focus.layer in place.layers for place in shown):
        raise InputError(
            f'The page cannot open at layer {focus.layer + 1} of "{focus.site}", which it does not carry; '
            "carry that layer and site too, or open it elsewhere."
        )
    return _plain(focus)


def _first(trace: Trace, place: Place) -> Focus:
    return Focus(place.site, place.layers[-1], items=longest_word(trace.fields[place.query]))


def longest_word(field: Field) -> tuple[int, ...]:
    """The items of a text's longest word, the first of several; none of what is no text."""
    if field.kind != "text" or not len(field):
        return ()
    start, end = max(words(field), key=lambda run: len("".join(field.raw[a:b] for a, b in field.anchors[slice(*run)])))
    return tuple(range(start, end)) if field.raw[slice(*_reach(field, start, end))].strip() else ()


def _reach(field: Field, start: int, end: int) -> tuple[int, int]:
    return int(field.anchors[start, 0]), int(field.anchors[end - 1, 1])


def _plain(focus: Focus) -> dict[str, Any]:
    named = {name: getattr(focus, name) for name in ("side", "head", "unit", "areas")}
    return {"site": focus.site, "layer": focus.layer, "selection": {**named, "items": list(focus.items)}}
