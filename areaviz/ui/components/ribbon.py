"""The token ribbon on a page, and how a page and a component agree on what is locked.

The data of a trace, site and layer travels once: it does not contain the selection, so a click
sends a few bytes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import streamlit as st

from areaviz.interactive.grid import grid_payload
from areaviz.interactive.message import packed
from areaviz.interactive.ribbon import ribbon_payload
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.look.payloads import Payload, payloads
from areaviz.ui.shell.component import component

HEIGHT = 480
PAYLOADS: Mapping[str, Callable[[Trace, Focus], Payload]] = {
    "ribbon": ribbon_payload,
    "grid": grid_payload,
}
"""What makes the data of a component."""


Matches = Mapping[str, Sequence[tuple[int, int, int]]]
"""For the text of a linked component that differs from this one's: where each of its words starts
and ends, and starts in this one's, in characters."""
NO_MATCHES: Matches = {}


@dataclass(frozen=True, slots=True)
class Selection:
    """What is locked, and how it is looked at. Without items nothing is locked.

    Args:
        side: "query" or "memory".
        items: of that side.
        head: the one that is shown, None for several.
        unit: what a click locks: an "item" or a "word".
        areas: whether "any" or only those of "several" items light up.
        reading, mass, against: as in `Focus`.
    """

    side: str = "query"
    items: tuple[int, ...] = ()
    head: int | None = None
    unit: str = "item"
    areas: str = "any"
    reading: str = "heaviest"
    mass: int = 50
    against: str = "nothing"

    @classmethod
    def of(cls, focus: Focus) -> Selection:
        """The selection of a focus."""
        return cls(**{one.name: getattr(focus, one.name) for one in fields(cls)})

    @classmethod
    def reported(cls, report: Mapping[str, Any]) -> Selection:
        """The selection that a browser reports."""
        chosen = {one.name: report[one.name] for one in fields(cls)}
        return cls(**{**chosen, "items": tuple(report["items"])})


@dataclass(frozen=True, slots=True, eq=False)
class Mounted:
    """What is remembered of a mounted component between reruns.

    Args:
        subject: the trace, which this does not keep alive, the site and the layer of `payload`.
        requested: the selection the page last gave.
        current: what is locked now.
        sent: the selection last sent to the browser.
        reported: the browser's last report.
        serial: how many selections were sent.
    """

    subject: tuple[weakref.ref[Trace], str, int]
    payload: Payload
    requested: Selection
    current: Selection
    sent: Selection
    reported: Mapping[str, Any] | None = None
    serial: int = 0

    def shows(self, trace: Trace, focus: Focus) -> bool:
        """Whether this is the same trace (the object itself), site and layer."""
        return self.subject[0]() is trace and self.subject[1:] == (focus.site, focus.layer)

    def settled(self, report: Mapping[str, Any] | None, requested: Selection) -> Mounted:
        """Settle between the browser's report and the page's selection.

        A new report wins, then a new selection of the page; one that the page was given before is
        not new.
        """
        is_new = report is not None and report != self.reported
        if report is not None and is_new and report["id"] == self.payload["header"]["id"]:
            current = Selection.reported(report)
            return replace(self, reported=report, current=current, requested=requested)
        current = self.current if requested == self.requested else requested
        # A component that lost its report was off the page, and is sent its selection again.
        lost_report = report is None and self.reported is not None
        if current == self.current and not lost_report:
            return replace(self, requested=requested)
        moved = replace(self, requested=requested, current=current, sent=current)
        return replace(moved, reported=report, serial=self.serial + 1)


def ribbon(
    trace: Trace,
    focus: Focus,
    *,
    key: str,
    link: str | None = None,
    height: int = HEIGHT,
    matches: Matches = NO_MATCHES,
) -> Selection:
    """Show the token ribbon of the focused site and layer; returns what is locked in it, and how.

    Args:
        focus: gives the first selection; a different one later on (from another view) moves the
            ribbon to it.
        key: unique on the page.
        link: ribbons with one link light up the same characters of a shared text.
        height: of both texts together at most, in pixels; longer texts scroll.
        matches: see `Matches`.

    Raises:
        ValueError: the memory is not text.
    """
    return mount("ribbon", trace, focus, key, link=link, height=height, matches=matches)


def mount(kind: str, trace: Trace, focus: Focus, key: str, **options: Any) -> Selection:
    """Show a component, one of `PAYLOADS`, with options for its script; returns what is locked."""
    place = f"{key}:mounted"
    state = st.session_state.get(key)
    shown = mounted(kind, st.session_state.get(place), trace, focus)
    shown = shown.settled(state.get("selection") if state else None, Selection.of(focus))
    st.session_state[place] = shown
    # The browser gets lists, as JSON has no tuples.
    selection = {**asdict(shown.sent), "items": list(shown.sent.items)}
    component(kind)(
        key=key,
        data=packed(shown.payload, selection=selection, serial=shown.serial, **options),
        on_selection_change=lambda: None,
    )
    return shown.current


def mounted(kind: str, before: Mounted | None, trace: Trace, focus: Focus) -> Mounted:
    """What is remembered of a component.

    It is `before` if that still fits, `before` with new data if another trace is equal to its own,
    else it starts anew.
    """
    if before is not None and before.shows(trace, focus):
        return before

    def make(trace: Trace, site: str, layer: int) -> Payload:
        return PAYLOADS[kind](trace, Focus(site, layer))

    subject = (weakref.ref(trace), focus.site, focus.layer)
    payload = payloads().get(kind, trace, focus.site, focus.layer, make)
    if before is not None and before.payload["header"]["id"] == payload["header"]["id"]:
        return replace(before, subject=subject, payload=payload)
    first = Selection.of(focus)
    return Mounted(subject, payload, first, first, first)
