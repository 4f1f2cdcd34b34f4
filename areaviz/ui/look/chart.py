"""One view of a trace: the picture, what it answers, and its numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from areaviz.drawing.base import Table, Takeaway, View
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.player import player
from areaviz.ui.look.focus_state import VIEW
from areaviz.ui.shell.markdown import escaped, shortened, visible
from areaviz.views import VIEWS

_CONFIG = {"displayModeBar": False, "displaylogo": False}


def view_picker(trace: Trace, focus: Focus) -> View | None:
    """Choose one of the views that fit; None where none does."""
    fitting = {name: view for name, view in VIEWS.items() if view.fits(trace, focus)}
    if not fitting:
        return None
    before = st.session_state.get(VIEW)
    if before not in fitting:
        st.session_state[VIEW] = next(iter(fitting))
        if before is not None and before not in VIEWS:
            st.caption(
                f"There is no view “{escaped(shortened(before))}”; showing"
                f" “{next(iter(fitting.values())).title}”."
            )
    st.segmented_control(
        "View",
        list(fitting),
        key=VIEW,
        format_func=lambda name: fitting[name].title,
        required=True,
        persist_state="session",
    )
    return fitting[st.session_state[VIEW]]


def chart(view: View, trace: Trace, focus: Focus, key: str) -> None:
    """The picture of a view with its caption, and the same numbers as text."""
    st.caption(escaped(_shown(view, trace, focus, key)))
    numbers(view, trace, focus, key)


def _shown(view: View, trace: Trace, focus: Focus, key: str) -> str:
    """Show the picture, played if it is one that is; returns its caption."""
    label = f"{view.title}: {view.question}"
    if view.played:
        played = view.played(trace, focus)
        player(played, label, key=f"played_{key}")
        return played.caption
    figure = view.figure(trace, focus)
    st.plotly_chart(figure, key=f"chart_{key}", config=_CONFIG, alt=label)
    return str(figure.layout.meta["caption"])


def numbers(view: Takeaway, trace: Trace, focus: Focus, key: str) -> None:
    """The numbers of a picture as a table, worked out when it is opened."""
    shown = st.expander(
        "Show as table", key=f"table_{view.name}_{key}", type="compact", on_change="rerun"
    )
    if shown.open:
        with shown:
            st.dataframe(as_columns(view.table(trace, focus)), hide_index=True)


def as_columns(table: Table) -> Mapping[str, list[str | int | float]]:
    """A table as columns, with what cannot be seen in its texts made visible."""
    cells = [
        [visible(cell) if isinstance(cell, str) else cell for cell in row] for row in table.rows
    ]
    return {name: [row[index] for row in cells] for index, name in enumerate(table.columns)}
