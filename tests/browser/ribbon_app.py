"""A page with two linked ribbons over the fakes, for the browser tests; settings come from the environment."""

import os

import streamlit as st

from areaviz.trace.request import Focus
from areaviz.ui.ribbon import ribbon
from tests import fakes

st.set_page_config(layout="wide")
source = os.environ.get("RIBBON_SOURCE", fakes.SENTENCE)
target = os.environ.get("RIBBON_TARGET", "Ein kleiner Hund rennt.")
heads = int(os.environ.get("RIBBON_HEADS", "4"))


@st.cache_resource
def traces() -> list:
    return [fakes.trace(source, target, heads=heads, area_size=size) for size in (1, 5)]


site = os.environ.get("RIBBON_SITE", "encoder-decoder")
if "focus" not in st.session_state:
    st.session_state.focus = Focus(site)
if st.button("Choose item 5"):
    st.session_state.focus = Focus(site, items=(4,))
for column, trace, name in zip(st.columns(2), traces(), ("regular", "area"), strict=True):
    with column:
        st.subheader(name.capitalize())
        selection = ribbon(trace, st.session_state.focus, key=name, link="pair")
        st.caption(f"{name}: {selection}")
