"""The widget for a stored trace, which a page shows instead of running a model."""

from __future__ import annotations

import streamlit as st

KEY = "stored_file"
MAX_MEGABYTES = 20
"""Limit on an uploaded file in MB; Streamlit keeps it in memory for the whole session."""


def trace_uploader() -> None:
    """Draw the widget; the file is in the session under `KEY`."""
    st.file_uploader(
        "Open a trace downloaded from this page (.npz)",
        key=KEY,
        max_upload_size=MAX_MEGABYTES,
        help="Files of the trace format only; nothing in them is run.",
    )
