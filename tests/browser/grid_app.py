"""A page with two linked image grids of made-up traces. Environment variables configure it."""

from __future__ import annotations

import os
from dataclasses import replace

import streamlit as st

from areaviz.app.components import draw_grid
from areaviz.samples.scenes import make_scene
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Picture
from tests import fakes

SITE = os.environ.get("GRID_SITE", "encoder-decoder")
CELLS = int(os.environ.get("GRID_CELLS", "4"))
WORDS = os.environ.get("GRID_WORDS", "a small red circle")
COLUMNS = int(os.environ.get("GRID_COLUMNS", "2"))
SCENE = int(os.environ.get("GRID_SCENE", "0"))
"""Side of a drawn scene in pixels, or 0 for the small fake picture."""
WIDTH = int(os.environ.get("GRID_WIDTH", "0"))
"""Width in pixels of a grey picture that is 640 pixels high, or 0 for another picture."""


@st.cache_resource
def traces() -> tuple[Trace, Trace]:
    """Return hard attention to single cells, and soft attention to areas up to 3 x 3."""
    made = [fakes.caption_trace(WORDS, CELLS, size, layers=1, hard=size == 1) for size in (1, 3)]
    one, other = [_with(trace, _picture()) if SCENE or WIDTH else trace for trace in made]
    return one, other


def _picture() -> Picture:
    return (
        fakes.picture(width=WIDTH, height=640)
        if WIDTH
        else Picture.of("scene", make_scene("samples", 3).pixels(SCENE))
    )


def _with(trace: Trace, picture: Picture) -> Trace:
    cells = fakes.picture_field(picture, CELLS, CELLS)
    request = replace(trace.request, picture=picture)
    return replace(trace, request=request, fields={**trace.fields, "picture": cells})


st.set_page_config(layout="wide")
focus = st.session_state.setdefault("focus", Focus(SITE))
if st.button("Choose the third item"):
    focus = st.session_state["focus"] = Focus(SITE, items=(2,))
if st.toggle("Show grids", value=True):
    for column, trace, name in zip(
        st.columns(COLUMNS),
        traces()[2 - COLUMNS :],
        ("regular", "area")[2 - COLUMNS :],
        strict=True,
    ):
        with column:
            selection = draw_grid(trace, focus, key=name, link="pair")
            st.caption(f"{name} has {selection}", unsafe_allow_html=False)
