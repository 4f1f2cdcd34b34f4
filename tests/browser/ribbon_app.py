"""A page with two linked ribbons of made-up traces. Environment variables configure it."""

from __future__ import annotations

import os

import streamlit as st

from areaviz.app.components import draw_ribbon
from areaviz.samples.paths import HOME
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes

SITE = os.environ.get("RIBBON_SITE", "encoder-decoder")
SOURCE = os.environ.get("RIBBON_SOURCE", fakes.SENTENCE) * int(os.environ.get("RIBBON_TIMES", "1"))
TARGET = os.environ.get("RIBBON_TARGET", "Ein kleiner Hund rennt.")
TOKENS = "RIBBON_TOKENS" in os.environ
HEADS = int(os.environ.get("RIBBON_HEADS", "4"))


@st.cache_resource
def traces() -> tuple[Trace, Trace]:
    """Return traces of a model with single items and of one with areas up to five items.

    With a setting, the trace is a stored trace of tokens.
    """
    if TOKENS:
        return file.load(HOME), file.load(HOME)
    return (
        fakes.trace(SOURCE, TARGET, layers=1, heads=HEADS, area_size=1),
        fakes.trace(SOURCE, TARGET, layers=1, heads=HEADS),
    )


st.set_page_config(layout="wide")
focus = st.session_state.setdefault("focus", Focus(SITE))
if st.button("Choose the fifth item"):
    focus = st.session_state["focus"] = Focus(SITE, items=(4,))
if st.toggle("Show ribbons", value=True):
    for column, trace, name in zip(st.columns(2), traces(), ("regular", "area"), strict=True):
        with column:
            selection = draw_ribbon(trace, focus, key=name, link="pair")
            st.caption(f"{name} has {selection}", unsafe_allow_html=False)
