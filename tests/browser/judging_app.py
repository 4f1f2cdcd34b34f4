"""A sheet for marking errors, with the saved judgement below it."""

from __future__ import annotations

import json

import numpy as np
import streamlit as st

from areaviz.sets.app.error_marking import ErrorSheet, draw_error_sheet, read_saved_errors
from areaviz.sets.notes.notes import TAGS, Judgement, convert_spans_to_json, parse_spans
from areaviz.trace.request import Picture

KEY = "sheet"
# The clef is one character, but two code units in the browser.
JUDGEMENT = Judgement("d", 0, "a.txt", "Ada", "A dog 𝄞 runs fast.", "Die Katze 𝄞 rennt schnell.")
state = st.session_state
version = state.get("version", 0)


def saved() -> None:
    spans, score = read_saved_errors(KEY)
    state["version"] = version + 1
    state["spans"], state["score"] = parse_spans(spans), score


st.set_page_config(layout="wide")
pixels = np.zeros((40, 80, 3), np.uint8)
picture = Picture.of("blue", pixels) if st.toggle("Picture") else None
shown = Judgement(
    *("d", 0, "a.txt", "Ada", JUDGEMENT.source, JUDGEMENT.output),
    state.get("spans", ()),
    state.get("score"),
    version=version,
)
mark = f"sheet {version} {picture is None}"
draw_error_sheet(ErrorSheet("Output of a.txt", shown, picture, TAGS, mark), key=KEY, on_save=saved)
st.button("Next", shortcut="J", on_click=state.update, kwargs={"was_next": True})
st.code(
    json.dumps([state.get("score"), *convert_spans_to_json(state.get("spans", ()))]), language=None
)
st.caption("Next was pressed" if state.get("was_next") else "Nothing was pressed")
