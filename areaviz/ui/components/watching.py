"""A clip on a page, as a film strip over one lane for each word of its description."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from areaviz.drawing.pictures import uri
from areaviz.drawing.theme import HEAD_COLOURS
from areaviz.trace.attribution import WAYS
from areaviz.trace.clip import Clip
from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.shell.component import component
from areaviz.views.watching import watching

AREAS, LEAST = 4, 0.02
"""Maximum number of bars in a lane, and the minimum weight of a bar."""
UNSURE = 0.5
"""Words with a lower probability are dotted."""


def watched(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the film strip and let the user keep words; return the locked selection.

    Args:
        trace: a trace of a clip.
        focus: the first words; a change by another view replaces the kept ones.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Clips of two models have separate selections.
        matches: unused, as `link`.
    """
    data = strip_data(trace, replace(focus, items=()))
    state = st.session_state.get(key)
    report = state.get("selection") if state else None
    known = f"{key}:report"
    chosen = sorted(focus.items) if focus.side == "query" else []
    if report and report != st.session_state.get(known) and report["id"] == data["id"]:
        words = range(len(data["words"]))
        chosen = sorted(int(item) for item in report["items"] if int(item) in words)
    st.session_state[known] = report
    component("strip")(key=key, data={**data, "chosen": chosen}, on_selection_change=lambda: None)
    return Selection.of(replace(focus, side="query", items=tuple(chosen)))


def strip_data(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the data for the browser.

    `areas` has the heaviest areas of each word as first frame, number of frames and weight in
    thousandths, heaviest first. `actions` has positions between frames.
    """
    drawn, attention, clip = watching(trace, focus), trace.maps[focus.site], trace.request.clip
    assert clip is not None, "a field of a clip has a request with one"
    areas = []
    for word in range(len(drawn.words)):
        tops = top_areas(attention, focus.layer, focus.head, word, k=AREAS)
        areas.append(
            [
                [top.area.left, top.area.width, round(1000 * top.weight)]
                for top in tops
                if top.weight >= LEAST
            ]
        )
    unsure = []
    if trace.output.field == attention.query:
        unsure = np.flatnonzero(trace.output.probabilities < UNSURE).tolist()
    digest = hashlib.sha256(json.dumps([areas, drawn.words, drawn.numbers]).encode()).hexdigest()
    return {
        "id": f"{clip.digest} {digest[:12]}",
        "label": f"{drawn.title}: the frames that were attended to for each word",
        "verb": "depends most on" if focus.site.endswith(tuple(WAYS)) else "attends most to",
        "words": list(drawn.words),
        "numbers": list(drawn.numbers),
        "frames": _frames(clip, drawn.numbers),
        "milliseconds": clip.milliseconds * clip.frames // len(drawn.numbers),
        "areas": areas,
        "unsure": unsure,
        "actions": [list(action) for action in drawn.actions],
        "colours": list(HEAD_COLOURS),
    }


@st.cache_data(max_entries=16, show_spinner=False)
def _frames(clip: Clip, numbers: tuple[int, ...]) -> list[str]:
    """Return the frames with these numbers, from 1, as data URLs."""
    return [uri(clip.pixels[number - 1]) for number in numbers]
