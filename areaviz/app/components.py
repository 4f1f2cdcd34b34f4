"""Browser components on a page, and the payloads that they draw.

The mounting of components comes first. Each of the other sections draws one kind of component.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from areaviz.app.texts import get_language
from areaviz.cards.card import read_card
from areaviz.draw.view import Animation
from areaviz.samples.paths import find_checkpoints_folder
from areaviz.texts.catalogue import ENGLISH
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Focus, Sound
from areaviz.views.grid.grid import make_grid_payload
from areaviz.views.looks.looks import DigitReading, encode_looks, make_readings_payload
from areaviz.views.message import OPENS_AT, serialise_payload
from areaviz.views.parts import COMPONENTS, TEXTS, read_parts
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from areaviz.views.sound.sound import encode_sound_as_data_url, make_hearing_payload
from areaviz.views.strip.strip import encode_frames, make_strip_payload
from areaviz.views.tree.tree import choose_first_step, make_tree_payload

# Mounting of the browser components in Streamlit.


def get_component(name: str) -> Any:
    """Return the Streamlit component of this name in the language of the page.

    Streamlit has no types for it.
    """
    has_texts = TEXTS in COMPONENTS[name]
    return register_component(name, get_language() if has_texts else ENGLISH)


@lru_cache(maxsize=64)
def register_component(name: str, language: str) -> Any:
    """Return a Streamlit component with its texts in a language. It is registered at first use."""
    made = read_parts(name, language)
    script = f"{made.js}\nexport default mount;\n"
    own = f"areaviz.{name}" if language == ENGLISH else f"areaviz.{name}-{language}"
    return st.components.v2.component(own, html=made.html, css=made.css, js=script)


def get_report(key: str, name: str) -> Any:
    """Return the last report of the component with this key under a name, None for no report."""
    state = st.session_state.get(key)
    return state.get(name) if state else None


def ignore_report() -> None:
    """Do nothing, because a report already reruns the page, which reads the reports itself."""


# The player on a page. Its pictures are sent once, and it reports nothing.


def draw_player(animation: Animation, label: str, *, key: str) -> None:
    """Draw the first picture, a play button, and a scrubber with one stop per word."""
    data = {
        "label": label,
        "title": animation.title,
        "note": animation.note,
        "words": list(animation.words),
        "pictures": list(animation.pictures),
        "milliseconds": animation.milliseconds,
    }
    get_component("player")(key=key, data=data)


# Small pictures as buttons on a page, and the listener for pasted pictures.


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small clickable picture.

    Args:
        name: the name that a click reports.
        title: the content of the picture in words.
        image: a PNG or JPEG file.
    """

    name: str
    title: str
    image: bytes

    @property
    def source(self) -> str:
        """The image as a data URL."""
        kind = "png" if self.image.startswith(b"\x89PNG") else "jpeg"
        return f"data:image/{kind};base64,{base64.b64encode(self.image).decode()}"


def draw_thumbnails(
    label: str, pictures: Sequence[Thumbnail], chosen: str, *, key: str, on_pick: Callable[[], None]
) -> None:
    """Draw pictures as buttons, the one named `chosen` marked. `on_pick` follows a click."""
    shown = [{"name": one.name, "title": one.title, "source": one.source} for one in pictures]
    data = {"label": label, "pictures": shown, "chosen": chosen}
    get_component("thumbnails")(key=key, data=data, on_picked_change=on_pick)


def get_picked_name(key: str) -> str | None:
    """Return the name of the picture chosen last in the row with this key; for `on_pick`."""
    name: str | None = get_report(key, "picked")
    return name


def draw_paste_listener(uploader: str) -> None:
    """Say that pictures can be pasted, and pass them on to the file uploader with that key."""
    get_component("paste")(key=f"{uploader}_paste", data={"uploader": uploader})


# Payloads: the data that browsers draw for one site and layer of a trace.
#
# A payload is created once for all sessions. A digest of its inputs identifies it.


MAX_CACHED_BYTES = 32 * 2**20
"""Limit on all payloads together in bytes.

The payload of a sentence takes about 50 KB. The largest payload takes 2 MB.
"""
LIFETIME_SECONDS = 600.0
"""A payload expires this many seconds after its last request."""

Payload = Mapping[str, Any]
PayloadMaker = Callable[[Trace, str, int], Payload]


@dataclass(frozen=True, slots=True)
class _Entry:
    payload: Payload
    size: int
    used: float


class PayloadCache:
    """Payloads by the digest of their inputs; safe for several threads.

    The digests of a trace are cached while the trace lives. The cache does not keep the trace
    alive.

    Args:
        max_bytes: the largest number of bytes. The least recently requested payload is dropped
            first.
        seconds: a payload expires this many seconds after its last request.
        clock: returns a number of seconds that never decreases.
    """

    def __init__(
        self,
        max_bytes: int = MAX_CACHED_BYTES,
        seconds: float = LIFETIME_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes, self._seconds, self._clock = max_bytes, seconds, clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._digests: weakref.WeakKeyDictionary[Trace, dict[tuple[str, int], str]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock, self._makers = threading.RLock(), weakref.WeakValueDictionary[str, _MakerLock]()

    def get(self, kind: str, trace: Trace, site: str, layer: int, make: PayloadMaker) -> Payload:
        """Return the payload of a kind ("ribbon", "grid"). Simultaneous requests share it."""
        key = f"{kind} {self._digest(trace, site, layer)}"
        with self._lock:
            maker = self._makers.setdefault(key, _MakerLock())
        with maker.lock:
            found = self._find(key)
            if found is None:
                found = make(trace, site, layer)
                self._keep(key, found)
        return found

    @property
    def size(self) -> int:
        """The number of bytes held."""
        with self._lock:
            return sum(one.size for one in self._entries.values())

    def _digest(self, trace: Trace, site: str, layer: int) -> str:
        with self._lock:
            known = self._digests.setdefault(trace, {})
        if (site, layer) not in known:
            known[site, layer] = compute_input_digest(trace, site, layer)
        return known[site, layer]

    def _find(self, key: str) -> Payload | None:
        with self._lock:
            self._drop_old()
            if key not in self._entries:
                return None
            self._entries[key] = replace(self._entries[key], used=self._clock())
            self._entries.move_to_end(key)
            return self._entries[key].payload

    def _keep(self, key: str, payload: Payload) -> None:
        size = sum(array.nbytes for array in payload["arrays"].values())
        if size > self._max_bytes:
            return
        with self._lock:
            self._entries[key] = _Entry(payload, size, self._clock())
            self._drop_old()

    def _drop_old(self) -> None:
        end = self._clock() - self._seconds
        while self._entries:
            oldest = next(iter(self._entries.values()))
            if oldest.used >= end and self.size <= self._max_bytes:
                return
            self._entries.popitem(last=False)


class _MakerLock:
    """A lock that is held while a payload is created, so that other requests wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@st.cache_resource(max_entries=1, show_spinner=False)
def get_payload_cache() -> PayloadCache:
    """Return the payloads of this process."""
    return PayloadCache()


def compute_input_digest(trace: Trace, site: str, layer: int) -> str:
    """Return the SHA-256 of all inputs of a payload of this site and layer."""
    attention, picture = trace.maps[site], trace.request.picture
    fields = [trace.fields[name] for name in dict.fromkeys((attention.query, attention.memory))]
    about = (
        replace(trace.request, picture=None),
        picture and (picture.name, picture.width, picture.height),
        (site, layer, attention.layers, attention.query, attention.memory),
        (attention.normalisation, attention.grid, attention.derived),
        [(field.name, field.kind, field.raw, field.labels) for field in fields],
        ("history" in trace.fields, trace.details.get("decoding"), trace.details.get(OPENS_AT)),
        # The ribbon marks the output's items that the model is unsure of.
        (trace.output.field, np.flatnonzero(trace.output.probabilities < 0.5).tolist()),
    )
    found = hashlib.sha256(repr(about).encode())
    found.update(b"" if picture is None else picture.rgb)
    arrays = [field.anchors for field in fields]
    arrays += [one[layer] for one in (attention.chosen, attention.strength) if one is not None]
    for array in [*arrays, *attention.weights[layer]]:
        found.update(repr(array.shape).encode())
        found.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return found.hexdigest()


# Ribbon and grid on a page, and the synchronisation of the locked selection with the browser.
#
# The data of a trace, site and layer is sent once and does not contain the selection, so a click
# sends only a few bytes.


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
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: Matches = NO_MATCHES
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


# Components in which users choose items: tree, sound, clip, and readings of a picture.


Items = tuple[int, ...]


def choose_items(
    name: str, made: Mapping[str, Any], items: Items, key: str, **more: Any
) -> tuple[Items, Any]:
    """Draw a component, and return the chosen items and the remaining reports of the component.

    A report counts once, so a later selection of the page replaces it. A report about former data
    does not count.

    Args:
        name: the name of the component.
        made: its data.
        items: the items that the page selects.
        key: a widget key that is unique on the page.
        more: further data, or callbacks of other reports, whose names begin with "on_".
    """
    report, known = get_report(key, "selection"), f"{key}:report"
    is_new = report is not None and report != st.session_state.get(known)
    st.session_state[known] = report
    if is_new and report["id"] == made["header"]["id"]:
        items = tuple(sorted(int(item) for item in report["items"]))
    calls = {label: more.pop(label) for label in list(more) if label.startswith("on_")}
    data = serialise_payload(made, items=items, **more)
    return items, get_component(name)(
        key=key, data=data, on_selection_change=ignore_report, **calls
    )


def list_queries(focus: Focus) -> Items:
    """Return the selected items that attend, in order."""
    return tuple(sorted(focus.items)) if focus.side == "query" else ()


def draw_tree(trace: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw a tree up to the selected step, and return the step as the locked selection."""
    made = make_tree_payload(trace, focus)
    first = list_queries(focus)[:1] or (choose_first_step(made["header"]),)
    items, _ = choose_items("tree", made, first, key)
    is_chosen = focus.side == "query" or items != first
    return Selection.from_focus(replace(focus, side="query", items=items) if is_chosen else focus)


def draw_sound_player(trace: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw the player of a sound, and return the chosen item as the locked selection."""
    made = make_hearing_payload(trace, focus, _encode_sound)
    items, _ = choose_items("hearing", made, list_queries(focus)[:1], key)
    return Selection.from_focus(replace(focus, side="query", items=items))


def draw_film_strip(trace: Trace, focus: Focus, *, key: str) -> Selection:
    """Draw a clip as a film strip, and return the words that the user keeps."""
    made = make_strip_payload(trace, focus, _encode_frames)
    items, _ = choose_items("strip", made, list_queries(focus), key)
    return Selection.from_focus(replace(focus, side="query", items=items))


def draw_readings(
    readings: Sequence[DigitReading], digits: str, look: int, against: str = "nothing", *, key: str
) -> int:
    """Draw readings of one picture on one clock, and return the look that the user chose.

    Args:
        readings: what the models read.
        digits: the digits in the picture, "" if they are unknown.
        look: the look of the page, from 0. A change moves the component to it.
        against: as in `draw_picture_at_step`.
        key: a widget key that is unique on the page.
    """
    made = make_readings_payload(readings, digits, against, _get_pictures_of_run)
    ((chosen,), _) = choose_items("looks", made, (look,), key)
    return chosen


@st.cache_data(max_entries=16, show_spinner=False)
def _encode_sound(sound: Sound) -> str:
    return encode_sound_as_data_url(sound)


@st.cache_data(max_entries=16, show_spinner=False)
def _encode_frames(clip: Clip, numbers: Items) -> list[str]:
    return encode_frames(clip, numbers)


def _get_pictures_of_run(trace: Trace, against: str) -> list[str]:
    """Return the pictures of all looks, kept by run. A retrained model has other probabilities."""
    request, picture = trace.request, trace.request.picture
    likely = trace.output.probabilities.tobytes()
    run = request.model, request.sample, request.seed, picture and picture.digest, likely
    return _draw_pictures_of_run(run, against, trace)


@st.cache_data(max_entries=64, show_spinner=False)
def _draw_pictures_of_run(run: tuple[object, ...], against: str, _trace: Trace) -> list[str]:
    return encode_looks(_trace, against)
