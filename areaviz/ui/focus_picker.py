"""The widgets that choose what is looked at: attention site, layer and head. Items are chosen where they are drawn."""

from __future__ import annotations

import streamlit as st

from areaviz.trace.record import Trace
from areaviz.ui.focus_state import HEAD, LAYER, SITE, head_name, heads, layer_name, layers
from areaviz.views.sites import site_name, sites

SIDE_BY_SIDE = 4
"""More sites than this, as of models whose heads are shown as areas too, are a list."""


def focus_picker(trace: Trace, site: str) -> None:
    """Draw the widgets for a site of `trace`; their values are those of `focus_state.current_focus`.

    A choice of one is none and is not drawn.
    """
    offered = (
        ("Attention", sites(trace), SITE, lambda one: site_name(trace, one)),
        ("Layer", layers(trace, site), LAYER, layer_name),
        ("Head", heads(trace, site), HEAD, head_name),
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        for label, options, key, name in offered:
            if key == SITE and len(options) > SIDE_BY_SIDE:
                st.selectbox(
                    label, options, key=key, format_func=name, required=True, persist_state="session", width=320
                )
            elif len(options) > (2 if key == HEAD else 1):
                st.segmented_control(label, options, key=key, format_func=name, required=True, persist_state="session")
