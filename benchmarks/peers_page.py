"""The Streamlit page on which `benchmarks/peers.py` shows areaviz: a ribbon, a choice of layers.

The environment variable names the table of attention, see `benchmarks/peers_make.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from benchmarks.random_attention import LAYERS, SITE, windows_trace

SETTING = "AREAVIZ_PEERS_TABLE"


def trace(table: Path) -> Trace:
    """The attention of a table as a trace."""
    rows, words = np.load(table), table.with_suffix(".txt").read_text("utf-8").split(" ")
    return windows_trace(rows, words, AreaGrid(1, len(words), 1, 1))


def page() -> None:
    """The ribbon of one layer."""
    import streamlit as st

    from areaviz.ui.components.ribbon import ribbon

    st.set_page_config(layout="wide")
    layer = st.segmented_control("Layer", range(LAYERS), default=0, required=True)
    ribbon(st.cache_resource(trace)(Path(os.environ[SETTING])), Focus(SITE, layer), key="ribbon")


if __name__ == "__main__" and SETTING in os.environ:
    page()
