"""Ribbon and grid on a page, and the synchronisation of the locked selection with the browser.

The data of a trace, site and layer is sent once and does not contain the selection, so a click
sends only a few bytes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from areaviz.cards.card import read_card
from areaviz.samples.paths import find_checkpoints_folder
from areaviz.show.grid.grid import make_grid_payload
from areaviz.show.message import serialise_payload
from areaviz.show.ribbon.ribbon import make_ribbon_payload
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.component import get_component, get_report, ignore_report
from areaviz.ui.components.payloads import Payload, get_payload_cache

MAX_HEIGHT_PX = 480
PAYLOAD_MAKERS: Mapping[str, Callable[[Trace, Focus], Payload]] = {
    "ribbon": make_ribbon_payload,
    "grid": make_grid_payload,
}
"""Functions that create the data of a component."""


Matches = Mapping[str, Sequence[tuple[int, int, int]]]
"""Matching words of a linked component with another text: for that text, where each word starts and
ends in it, and starts in this component's text, in characters."""
NO_MATCHES: Matches = {}


@dataclass(frozen=True, slots=True)
class Selection:
    """The locked selection, and how it is displayed. Without items nothing is locked.

    Args:
        side: "query" or "memory".
        items: the items of that side.
        head: the shown head, None for several.
        unit: what a click locks: an "item" or a "word".
        areas: whether "any" areas or only those of "several" items are highlighted.
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
    def from_focus(cls, focus: Focus) -> Selection:
        """Return the selection of a focus."""
        return cls(**{one.name: getattr(focus, one.name) for one in fields(cls)})

    @classmethod
    def from_report(cls, report: Mapping[str, Any]) -> Selection:
        """Return the selection that a browser reports."""
        chosen = {one.name: report[one.name] for one in fields(cls)}
        return cls(**{**chosen, "items": tuple(report["items"])})


@dataclass(frozen=True, slots=True, eq=False)
class MountedComponent:
    """The data of a mounted component that is kept between reruns.

    Args:
        subject: the trace (by weak reference), the site and the layer of `payload`.
        requested: the selection that the page gave last.
        current: the locked selection.
        sent: the selection sent last to the browser.
        reported: the browser's last report.
        serial: the number of sent selections.
    """

    subject: tuple[weakref.ref[Trace], str, int]
    payload: Payload
    requested: Selection
    current: Selection
    sent: Selection
    reported: Mapping[str, Any] | None = None
    serial: int = 0

    def is_showing(self, trace: Trace, focus: Focus) -> bool:
        """Return whether this is the same trace object, site and layer."""
        return self.subject[0]() is trace and self.subject[1:] == (focus.site, focus.layer)

    def merge_report(
        self, report: Mapping[str, Any] | None, requested: Selection
    ) -> MountedComponent:
        """Merge the browser's report with the page's selection.

        A new report has priority, then a new selection of the page. A selection that the page has
        already given is not new.
        """
        is_new = report is not None and report != self.reported
        if report is not None and is_new and report["id"] == self.payload["header"]["id"]:
            current = Selection.from_report(report)
            return replace(self, reported=report, current=current, requested=requested)
        current = self.current if requested == self.requested else requested
        # A component without its report was off the page, so send it its selection again.
        lost_report = report is None and self.reported is not None
        if current == self.current and not lost_report:
            return replace(self, requested=requested)
        moved = replace(self, requested=requested, current=current, sent=current)
        return replace(moved, reported=report, serial=self.serial + 1)


def draw_ribbon(
    trace: Trace,
    focus: Focus,
    *,
    key: str,
    link: str | None = None,
    height: int = MAX_HEIGHT_PX,
    matches: Matches = NO_MATCHES,
) -> Selection:
    """Draw the token ribbon of the selected site and layer, and return its locked selection.

    Args:
        trace: the trace.
        focus: the first selection. A change by another view moves the ribbon to the new one.
        key: a widget key that is unique on the page.
        link: ribbons with one link highlight the same characters of a shared text.
        height: the largest height of both texts together in pixels. Longer texts scroll.
        matches: see `Matches`.

    Raises:
        ValueError: the memory is not text.
    """
    keys = read_key_mode(trace.request.model)
    return mount_component(
        "ribbon", trace, focus, key, link=link, height=height, matches=matches, keys=keys
    )


def draw_grid(
    trace: Trace,
    focus: Focus,
    *,
    key: str,
    link: str | None = None,
    matches: Matches = NO_MATCHES,
) -> Selection:
    """Draw the image grid of the selected site and layer, and return its locked selection.

    The arguments are as above. Grids with one link also highlight equal cells of one picture.

    Raises:
        ValueError: the site does not attend to cells of a picture.
    """
    return mount_component("grid", trace, focus, key, link=link, matches=matches)


@lru_cache(maxsize=64)
def read_key_mode(model: str) -> str:
    """Return how a model of this machine's folder computes the key of an area, or "" if unknown.

    It reads the card alone, because Home shows a stored trace without opening any model.
    """
    path = find_checkpoints_folder() / Path(model).name / "card.json"
    return read_card(path).key_mode if model and path.is_file() else ""


def mount_component(kind: str, trace: Trace, focus: Focus, key: str, **options: Any) -> Selection:
    """Draw a component of `PAYLOAD_MAKERS` with options for its script.

    Returns:
        The locked selection.
    """
    place = f"{key}:mounted"
    shown = build_mounted(kind, st.session_state.get(place), trace, focus)
    shown = shown.merge_report(get_report(key, "selection"), Selection.from_focus(focus))
    st.session_state[place] = shown
    # Use lists, because JSON has no tuples.
    selection = {**asdict(shown.sent), "items": list(shown.sent.items)}
    get_component(kind)(
        key=key,
        data=serialise_payload(shown.payload, selection=selection, serial=shown.serial, **options),
        on_selection_change=ignore_report,
    )
    return shown.current


def build_mounted(
    kind: str, before: MountedComponent | None, trace: Trace, focus: Focus
) -> MountedComponent:
    """Return the data to keep of a component.

    It is `before` if that still applies, `before` with new data if another trace equals its own, or
    new data.
    """
    if before is not None and before.is_showing(trace, focus):
        return before

    def make(trace: Trace, site: str, layer: int) -> Payload:
        return PAYLOAD_MAKERS[kind](trace, Focus(site, layer))

    subject = (weakref.ref(trace), focus.site, focus.layer)
    payload = get_payload_cache().get(kind, trace, focus.site, focus.layer, make)
    if before is not None and before.payload["header"]["id"] == payload["header"]["id"]:
        return replace(before, subject=subject, payload=payload)
    first = Selection.from_focus(focus)
    return MountedComponent(subject, payload, first, first, first)
