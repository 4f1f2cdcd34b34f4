"""The widgets that choose what is looked at: attention site, layer, head, and what one points at."""

from __future__ import annotations

import streamlit as st

from areaviz.trace.record import Trace
from areaviz.trace.request import UNITS
from areaviz.ui.focus_state import (
    HEAD,
    LAYER,
    SITE,
    UNIT,
    head_name,
    heads,
    layer_name,
    site_name,
    sites,
)


def focus_picker(trace: Trace, site: str) -> None:
    """Draw the widgets for a site of `trace`; their values are those of `focus_state.current_focus`."""
    choose = st.segmented_control
    items = items_of(trace)
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        choose("Attention", sites(trace), key=SITE, format_func=site_name, required=True, persist_state="session")
        layers = range(trace.maps[site].layers)
        choose("Layer", layers, key=LAYER, format_func=layer_name, required=True, persist_state="session")
        choose("Head", heads(trace, site), key=HEAD, format_func=head_name, required=True, persist_state="session")
        choose(
            "Point at",
            UNITS,
            key=UNIT,
            format_func=lambda unit: "words" if unit == "word" else items,
            required=True,
            persist_state="session",
        )


def items_of(trace: Trace) -> str:
    """What the model reads one by one, in words: "characters" or "tokens"."""
    anchors = next(iter(trace.fields.values())).anchors
    return "characters" if (anchors[:, 1] - anchors[:, 0] <= 1).all() else "tokens"
