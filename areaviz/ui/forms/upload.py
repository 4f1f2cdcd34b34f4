"""Opening a stored trace instead of running a model."""

from __future__ import annotations

import streamlit as st

from areaviz.trace.record import Trace
from areaviz.ui.look.opened import MAX_MEGABYTES, opened


def stored_trace() -> Trace | None:
    """A trace the reader opened from a file, or None.

    Raises:
        InputError: the file cannot be used.
        BackendError: the app has no room for it.
    """
    with st.expander("Open a stored trace", key="stored", type="compact"):
        file = st.file_uploader(
            "A trace downloaded from this page",
            type="npz",
            key="stored_file",
            max_upload_size=MAX_MEGABYTES,
            help="Files of the trace format only; nothing in them is run.",
        )
    return None if file is None else opened(file)
