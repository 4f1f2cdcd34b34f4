"""What users choose in a component that reports its items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st


def reported(key: str, made: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the items of a new report of a component; None if there is no new one.

    A report counts once. A later selection of the page therefore replaces it.

    Args:
        key: the widget key of the component.
        made: its data. Reports about other data do not count.
    """
    state = st.session_state.get(key)
    report = state.get("selection") if state else None
    known = f"{key}:report"
    before = st.session_state.get(known)
    st.session_state[known] = report
    if report is None or report == before or report["id"] != made["header"]["id"]:
        return None
    return tuple(sorted(int(item) for item in report["items"]))
