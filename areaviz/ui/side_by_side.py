"""One sentence translated with different sights, side by side, and one of the traces to look into."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.data.pictures import small_file
from areaviz.trace.picture import Picture
from areaviz.trace.record import Trace
from areaviz.ui.explore import explore
from areaviz.ui.plain import escaped, visible
from areaviz.ui.translation import confidence

LOOKED = "sight_looked"
SIDE = 132
"""Longest side of the small pictures, in pixels."""


def side_by_side(traces: Sequence[Trace], titles: Sequence[str]) -> None:
    """What was written with each sight, and the attention of those that are chosen."""
    with st.container(key="sights"):
        for trace, title, place in zip(traces, titles, st.columns(len(traces), gap="medium"), strict=True):
            with place.container(border=True, height="stretch"):
                _sight(trace, title, traces[0])
    chosen = _chosen(titles)
    picked = [(trace, title) for trace, title in zip(traces, titles, strict=True) if title in chosen]
    explore([trace for trace, _ in picked], [title for _, title in picked], picked[0][0].request)


def _sight(trace: Trace, title: str, first: Trace) -> None:
    st.caption(title)
    with st.container(key=f"translation_sight_{title}", gap="small"):
        _small(trace.request.picture)
        output = trace.fields[trace.output.field]
        st.text(visible(output.raw) or "The model wrote nothing.")
        if trace is not first:
            st.caption(_difference(output.raw, first.fields[first.output.field].raw))
        st.caption(confidence(trace))
        if "warning" in trace.details:
            st.caption(f"Note: {escaped(trace.details['warning'])}")


def _small(picture: Picture | None) -> None:
    if picture is None:
        st.caption("no picture")
        return
    width = max(1, round(SIDE * picture.width / max(picture.width, picture.height)))
    st.image(small_file(picture, SIDE), width=width, alt="What the model looks at")


def _difference(written: str, first: str) -> str:
    """Which words the first translation does not have, in words."""
    other = set(first.split())
    new = [word for word in written.split() if word not in other]
    if not new:
        return "the same words as with the first"
    return "other words: " + escaped(", ".join(f"“{word}”" for word in dict.fromkeys(new)))


def _chosen(titles: Sequence[str]) -> Sequence[str]:
    """Which of them to look into; one at least."""
    if len(titles) == 1:
        return titles
    kept = [title for title in st.session_state.get(LOOKED, []) if title in titles]
    st.session_state[LOOKED] = kept or [titles[0]]
    chosen = st.pills("Look into the attention", titles, selection_mode="multi", key=LOOKED)
    return chosen or [titles[0]]
