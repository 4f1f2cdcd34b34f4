"""The analyses of this process, one registry for all sessions."""

from __future__ import annotations

import streamlit as st

from areaviz.analysis.jobs import Jobs


@st.cache_resource(max_entries=1, show_spinner=False)
def jobs() -> Jobs:
    """The jobs of this process."""
    return Jobs()
