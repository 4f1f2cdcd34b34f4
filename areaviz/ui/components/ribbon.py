"""The token ribbon on a page: mounts the browser component and gives back what is locked in it, and
seen how.

The data of a trace, site and layer travels once: it does not contain the selection, so a click
sends a few bytes.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from areaviz.interactive.message import packed
from areaviz.interactive.ribbon import ribbon_payload
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.look.payloads import Make, Payload, payloads
from areaviz.ui.shell.component import component

HEIGHT = 480


@dataclass(frozen=True, slots=True)
class Selection:
    """What is locked: `items` of a `side` ("query" or "memory"), seen through `head` (None:
    several), by `unit`.

    Without items nothing is locked; the rest counts all the same. areas: whether "any" or only
    those of "several" items light up.
    """

    side: str = "query"
    items: tuple[int, ...] = ()
    head: int | None = None
    unit: str = "item"
    areas: str = "any"

    @classmethod
    def of(cls, focus: Focus) -> Selection:
        """The selection a focus asks for."""
        return cls(focus.side, focus.items, focus.head, focus.unit, focus.areas)


@dataclass(frozen=True, slots=True, eq=False)
class Mounted:
    """What a mounted ribbon remembers between reruns.

    subject: the trace, which this does not keep alive, the site and the layer of `payload`. asked:
    the selection the page last asked for. reported: the browser's last report. current: what is
    locked now. sent, serial: the selection last sent to the browser, and how many were.
    """

    subject: tuple[weakref.ref[Trace], str, int]
    payload: Payload
    asked: Selection
    current: Selection
    sent: Selection
    reported: Mapping[str, Any] | None = None
    serial: int = 0

    def shows(self, trace: Trace, focus: Focus) -> bool:
        """Whether this is the same trace (the object itself), site and layer."""
        return self.subject[0]() is trace and self.subject[1:] == (focus.site, focus.layer)

    def heard(self, report: Mapping[str, Any] | None, asked: Selection) -> Mounted:
        """Settle between the browser's report and what the page asks for: a new report wins, then a
        new wish.

        A page that hands back the selection it was given wishes nothing new. A ribbon that lost its
        report was taken off the page in between and is sent its selection again.
        """
        if (
            report is not None
            and report != self.reported
            and report["id"] == self.payload["header"]["id"]
        ):
            return replace(self, reported=report, current=_selection(report), asked=asked)
        wish = asked if asked not in (self.asked, self.current) else self.current
        if wish == self.current and (report is not None or self.reported is None):
            return replace(self, asked=asked)
        return replace(
            self, reported=report, asked=asked, current=wish, sent=wish, serial=self.serial + 1
        )


def ribbon(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, height: int = HEIGHT
) -> Selection:
    """Show the token ribbon of the focused site and layer; returns what is locked, if anything, and
    seen how.

    key: unique on the page. link: ribbons with one link light up the same characters of a shared
    text. height: of both texts together at most, in pixels; longer texts scroll. The focus gives
    the first selection; a different one later on (from another view) moves the ribbon to it. Raises
    ValueError when the memory is not text.
    """
    place = f"{key}:mounted"
    shown = _mounted(st.session_state.get(place), trace, focus).heard(
        last_report(key), Selection.of(focus)
    )
    st.session_state[place] = shown
    component("ribbon")(
        key=key,
        data=packed(
            shown.payload,
            selection=plain(shown.sent),
            serial=shown.serial,
            link=link,
            height=height,
        ),
        on_selection_change=lambda: None,
    )
    return shown.current


def mounted(before: Mounted | None, trace: Trace, focus: Focus, kind: str, make: Make) -> Mounted:
    """What is remembered if it still fits, with new data if it is another trace, anew if that
    differs in content.
    """
    if before is not None and before.shows(trace, focus):
        return before
    subject, asked = (weakref.ref(trace), focus.site, focus.layer), Selection.of(focus)
    payload = payloads().get(kind, trace, focus.site, focus.layer, make)
    if before is not None and before.payload["header"]["id"] == payload["header"]["id"]:
        return replace(before, subject=subject, payload=payload)
    return Mounted(subject, payload, asked, asked, asked)


def _mounted(before: Mounted | None, trace: Trace, focus: Focus) -> Mounted:
    return mounted(before, trace, focus, "ribbon", _made)


def _made(trace: Trace, site: str, layer: int) -> Payload:
    return ribbon_payload(trace, Focus(site, layer))


def last_report(key: str) -> Mapping[str, Any] | None:
    """What the browser last told, if the ribbon has been on the page since."""
    state = st.session_state.get(key)
    return state.get("selection") if state else None


def _selection(report: Mapping[str, Any]) -> Selection:
    return Selection(
        report["side"], tuple(report["items"]), report["head"], report["unit"], report["areas"]
    )


def plain(selection: Selection) -> dict[str, Any]:
    """A selection as the browser is told it."""
    return {
        "side": selection.side,
        "items": list(selection.items),
        "head": selection.head,
        "unit": selection.unit,
        "areas": selection.areas,
    }
