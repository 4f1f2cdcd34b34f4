"""The widgets that choose what is looked at: attention site, layer and head. Items are chosen where
they are drawn.
"""

from __future__ import annotations

import streamlit as st

from areaviz.drawing.sites import site_name, sites
from areaviz.trace.record import Trace
from areaviz.ui.look.focus_state import HEAD, LAYER, SITE, head_name, heads, layer_name, layers

SIDE_BY_SIDE = {SITE: 4, LAYER: 32, HEAD: 32}
"""More options than these are a list: sites, as of models whose heads are shown as areas too,
layers and heads.
"""


def focus_picker(trace: Trace, site: str) -> None:
    """Draw the widgets for a site of `trace`; their values are those of
    `focus_state.current_focus`.

    A choice of one is none and is not drawn.
    """
    offered = (
        ("Attention", sites(trace), SITE, lambda one: site_name(trace, one)),
        ("Layer", layers(trace, site), LAYER, layer_name),
        ("Head", heads(trace, site), HEAD, head_name),
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        for label, options, key, name in offered:
            if len(options) > SIDE_BY_SIDE[key]:
                width = 320 if key == SITE else 120
                st.selectbox(
                    label,
                    options,
                    key=key,
                    format_func=name,
                    required=True,
                    persist_state="session",
                    width=width,
                )
            elif len(options) > (2 if key == HEAD else 1):
                st.segmented_control(
                    label,
                    options,
                    key=key,
                    format_func=name,
                    required=True,
                    persist_state="session",
                )
