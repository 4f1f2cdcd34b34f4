"""A page with a window on two small pictures, for the browser tests."""

from __future__ import annotations

import streamlit as st

from areaviz.data.picture_samples import sample
from areaviz.data.scenes import make_scene
from areaviz.trace.picture import Picture
from areaviz.ui.components.window import window

st.set_page_config(layout="wide")
window(
    {"Scene": Picture.of("scene", make_scene("samples", 9).pixels(40)), "Digit": sample("digit-2")},
    (0.5, 0, 0, 0, 0.5, 0),
    key="window",
)
