"""Where a page opens: what is shown and lit before anybody points at anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from areaviz.publish.payloads import Place
from areaviz.trace.check import check_focus
from areaviz.trace.errors import InputError
from areaviz.trace.query import words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus


def opening(trace: Trace, shown: Sequence[Place], focus: Focus | None) -> dict[str, Any] | None:
    """The focus as the page's script is told it.

    Without one it is the last layer of the first place, with the longest word lit that attends, or
    else the first item.

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
            f'The page cannot open at layer {focus.layer + 1} of "{focus.site}", which it does not'
            " carry; carry that layer and site too, or open it elsewhere."
        )
    return _plain(focus)


def _first(trace: Trace, place: Place) -> Focus:
    field = trace.fields[place.query]
    first = (0,) if field.kind == "text" and len(field) else ()
    return Focus(place.site, place.layers[-1], items=longest_word(field) or first)


def longest_word(field: Field) -> tuple[int, ...]:
    """The items of a text's longest word, the first of several, without signs at its ends; none
    where there is none.
    """
    if field.kind != "text":
        return ()
    texts = [field.raw[start:end] for start, end in field.anchors.tolist()]
    trimmed = [_trimmed(texts, *run) for run in words(field)]
    start, end = max(trimmed, key=lambda run: len("".join(texts[slice(*run)])), default=(0, 0))
    return tuple(range(start, end))


def _trimmed(texts: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """A run of items from the first to the last one that has a letter or digit."""
    worded = [item for item in range(start, end) if any(map(str.isalnum, texts[item]))]
    return (worded[0], worded[-1] + 1) if worded else (start, start)


def _plain(focus: Focus) -> dict[str, Any]:
    named = {name: getattr(focus, name) for name in ("side", "head", "unit", "areas")}
    return {
        "site": focus.site,
        "layer": focus.layer,
        "selection": {**named, "items": list(focus.items)},
    }
