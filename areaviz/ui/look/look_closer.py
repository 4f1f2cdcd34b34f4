"""One reading of Four ways to look in every view that fits it, with its files, and the link to all
that is shown.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from areaviz.drawing.gazes import TRANSFORMER
from areaviz.drawing.sites import sites
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.look.chart import chart, view_picker
from areaviz.ui.look.downloads import downloads
from areaviz.ui.shell.address import address, keep, offer

STEP, READING, ROW, COLUMN = "ways_step", "ways_closer", "ways_row", "ways_column"
_NUMBERS = {"look": STEP, "row": ROW, "column": COLUMN}
"""The whole numbers of a link, by its parameters."""


def recall_looks(params: Mapping[str, str]) -> None:
    """Stand at the look, the reading and the sample that a link names; what it cannot mean is
    passed over.
    """
    for key in (*_NUMBERS.values(), READING):
        st.session_state.pop(key, None)
    for name, key in _NUMBERS.items():
        given = params.get(name, "")
        if given.isascii() and given.isdecimal() and len(given) < 4:
            st.session_state[key] = int(given)
    if "reading" in params:
        st.session_state[READING] = params["reading"]


def chosen_number(label: str, key: str, most: int, default: int, help: str | None = None) -> int:
    """A slider from 1 to `most`, which stands where it stood before as far as that is possible."""
    st.session_state[key] = min(max(1, st.session_state.get(key, default)), most)
    return int(st.slider(label, 1, most, key=key, help=help, persist_state="session"))


@st.fragment
def look_closer(
    traces: Mapping[str, Trace], titles: Mapping[str, str], request: Request | None
) -> None:
    """Choose one of the traces, by mechanism, and look at it. request: what a link restores; None
    for no link.
    """
    st.subheader("Look closer", anchor=False)
    with st.container(border=True):
        if st.session_state.get(READING) not in traces:
            st.session_state[READING] = next(iter(traces))
        reading = st.segmented_control(
            "Reading",
            list(traces),
            key=READING,
            format_func=lambda mechanism: titles[mechanism],
            required=True,
            persist_state="session",
        )
        trace = traces[reading or next(iter(traces))]
        focus = Focus(sites(trace)[0])
        view = view_picker(trace, focus)
        if view is not None:
            st.caption(view.question)
            focus = _sample(trace, focus)
            chart(view, trace, focus, "ways")
            downloads(view, trace, focus, "ways")
    params = {
        name: str(st.session_state[key])
        for name, key in _NUMBERS.items()
        if key in st.session_state
    }
    if request is None:
        keep({})
    else:
        offer(
            address(request, view=view.name if view else "") | params | {"reading": reading or ""},
            request,
        )


def _sample(trace: Trace, focus: Focus) -> Focus:
    """Of a transformer, let one sample of what it read be chosen; the middle one at first."""
    if focus.site != TRANSFORMER:
        return focus
    rows, columns = trace.gazes[focus.site].seen[0, 0].shape
    with st.container(horizontal=True, gap="medium"):
        row = chosen_number("Row of the sample", ROW, rows, rows // 2 + 1)
        column = chosen_number("Column of the sample", COLUMN, columns, columns // 2 + 1)
    return Focus(focus.site, items=((row - 1) * columns + column - 1,))
