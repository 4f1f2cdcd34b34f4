"""A sound on a page, which is played under the attention of every output item."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from areaviz.data.sound_files import flac
from areaviz.drawing.pictures import coloured, matrix_uri, uri
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.trace.sound import Sound
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.shell.component import component
from areaviz.views.listening import Listening, listening


def hearing(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the player and let the user choose an item; return the locked selection.

    Args:
        trace: a trace of a sound.
        focus: the first item; a change by another view moves the frame to the new one.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Sounds of two models are played separately.
        matches: unused, as `link`.
    """
    data = _data(trace, replace(focus, items=()))
    state = st.session_state.get(key)
    report = state.get("row") if state else None
    known = f"{key}:report"
    chosen = min(focus.items, default=-1) if focus.side == "query" else -1
    if report and report != st.session_state.get(known) and report["id"] == data["id"]:
        chosen = int(report["row"])
    st.session_state[known] = report
    component("hearing")(key=key, data={**data, "chosen": chosen}, on_row_change=lambda: None)
    items = (chosen,) if chosen >= 0 else ()
    return Selection.of(replace(focus, side="query", items=items))


def _data(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the data for the browser; weights are in thousandths."""
    drawn, sound = listening(trace, focus), trace.request.sound
    assert sound is not None
    thousandths = (1000 * drawn.weights).round().astype(int)
    return {
        "id": f"{sound.digest} {hashlib.sha256(thousandths.tobytes()).hexdigest()[:12]}",
        "label": f"{drawn.title}: the moments that were listened to for each item",
        "rows": list(drawn.labels),
        "lit": _lit_row(drawn),
        "weights": thousandths.tolist(),
        "edges": list(drawn.edges),
        "seconds": drawn.seconds,
        "spoken": [list(pair) for pair in drawn.spoken],
        "alignment": matrix_uri(drawn.weights, drawn.top),
        "sound": uri(coloured(drawn.loud)),
        "audio": f"data:audio/flac;base64,{_audio(sound)}",
    }


def _lit_row(drawn: Listening) -> int:
    """Return the row that listened most to one moment; special items such as the end come last."""
    most_T = drawn.weights.max(axis=1)
    is_special_T = [label.startswith("⟨") for label in drawn.labels]
    return int(np.where(is_special_T, most_T - 1, most_T).argmax())


@st.cache_data(max_entries=16, show_spinner=False)
def _audio(sound: Sound) -> str:
    return base64.b64encode(flac(sound)).decode("ascii")
