"""The Streamlit page on which `benchmarks/peers.py` shows areaviz: a ribbon, and the choice of its
layer.

The environment variable names the table of attention, see `benchmarks/peers_make.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Focus, Request

LAYERS = HEADS = 12
SETTING = "AREAVIZ_PEERS_TABLE"
SITE = "encoder self"


def trace(table: Path) -> Trace:
    """The attention of a table as a trace, whose heads are windows of one array:
    nothing is copied.
    """
    rows, words = np.load(table), table.with_suffix(".txt").read_text("utf-8").split(" ")
    items, (row, column) = rows.shape[1], rows.strides
    shape, strides = (LAYERS, HEADS, items, items), (HEADS * row, row, row, column)
    weights = np.lib.stride_tricks.as_strided(rows, shape, strides, writeable=False)
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    anchors = np.stack([ends - [len(word) for word in words], ends], 1)
    field = Field("source", "text", " ".join(words), tuple(words), anchors)
    attention = AttentionMap(SITE, "source", "source", AreaGrid(1, items, 1, 1), weights)
    output = Output("source", np.ones(items, np.float32), ((),) * items)
    return Trace(Request("random", field.raw), {"source": field}, output, {SITE: attention})


def page() -> None:
    """The ribbon of one layer."""
    import streamlit as st

    from areaviz.ui.components.ribbon import ribbon

    st.set_page_config(layout="wide")
    layer = st.segmented_control("Layer", range(LAYERS), default=0, required=True)
    ribbon(st.cache_resource(trace)(Path(os.environ[SETTING])), Focus(SITE, layer), key="ribbon")


if __name__ == "__main__" and SETTING in os.environ:
    page()
