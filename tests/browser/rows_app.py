"""A table of rows that open, with the clicked rows below it."""

from __future__ import annotations

import streamlit as st

from areaviz.sets.app.filter import (
    Column,
    TableContent,
    draw_rows,
    get_clicked_header,
    get_clicked_row,
)

KEY = "table"
state = st.session_state
names = [f"<b>{number}</b>" for number in range(40)]


def opened() -> None:
    state["opened"] = get_clicked_row(KEY)


def sorted_by() -> None:
    state["falls"] = not state.get("falls", False)
    state["head"] = get_clicked_header(KEY)


st.set_page_config(layout="wide")
ids = list(range(40))
if state.get("falls"):
    ids.reverse()
columns = [Column("Name"), Column("Number", "number", is_number=True)]
cells = [(names[one], str(one)) for one in ids]
shown = TableContent(columns, cells, ids, state.get("opened"), ("number", not state.get("falls")))
draw_rows("Forty rows", shown, key=KEY, on_open=opened, on_sort=sorted_by, target="example")
if st.button("Next", shortcut="J"):
    state["opened"] = state["opened"] + 1
    st.rerun()
for line in range(20):
    st.caption(f"Line {line}")
if state.get("opened") is not None:
    with st.container(key="example", height=400):
        st.subheader(f"Opened {state['opened']}", anchor=False)
