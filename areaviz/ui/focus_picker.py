"""The widgets that choose what is looked at: attention site, layer and head. The ribbon itself chooses the items."""

from __future__ import annotations

import streamlit as st

from areaviz.trace.record import Trace
from areaviz.ui.focus_state import (
    HEAD,
    LAYER,
    SITE,
    head_name,
    heads,
    layer_name,
    site_name,
    sites,
)


def focus_picker(trace: Trace, site: str) -> None:
    """Draw the widgets for a site of `trace`; their values are those of `focus_state.current_focus`."""
    choose = st.segmented_control
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        choose("Attention", sites(trace), key=SITE, format_func=site_name, required=True, persist_state="session")
        layers = range(trace.maps[site].layers)
        choose("Layer", layers, key=LAYER, format_func=layer_name, required=True, persist_state="session")
        choose("Head", heads(trace, site), key=HEAD, format_func=head_name, required=True, persist_state="session")
