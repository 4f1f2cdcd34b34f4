"""Components in which users choose items: tree, sound, clip, and readings of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from areaviz.show.looks.looks import DigitReading, encode_looks, make_readings_payload
from areaviz.show.message import serialise_payload
from areaviz.show.sound.sound import encode_sound_as_data_url, make_hearing_payload
from areaviz.show.strip.strip import encode_frames, make_strip_payload
from areaviz.show.tree.tree import choose_first_step, make_tree_payload
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Focus, Sound
from areaviz.ui.app.component import get_component, get_report, ignore_report
from areaviz.ui.components.ribbon import Selection

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
