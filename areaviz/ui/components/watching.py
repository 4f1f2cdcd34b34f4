"""A clip on a page: it plays, and the user chooses words of the description next to it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.data.clip_files import gif
from areaviz.trace.clip import Clip
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.page import told_apart
from areaviz.views.watching import watching

_WIDTH = 128


def watched(
    trace: Trace, focus: Focus, *, key: str, link: str | None = None, matches: object = None
) -> Selection:
    """Draw the clip and let the user choose words; return the locked selection.

    Args:
        trace: a trace of a clip.
        focus: the first words; a change by another view replaces the chosen ones.
        key: a widget key that is unique on the page.
        link: unused; other components have it. Clips of two models have separate selections.
        matches: unused, as `link`.
    """
    drawn = watching(trace, focus)
    clip = trace.request.clip
    assert clip is not None
    asked = list(focus.items) if focus.side == "query" else []
    known = f"{key}:asked"
    if st.session_state.get(known) != asked or key not in st.session_state:
        st.session_state[key] = st.session_state[known] = asked
    names = told_apart([escaped(word) for word in drawn.words])
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.image(_gif(clip), width=_WIDTH, alt=f"The clip. {drawn.title}")
        with st.container():
            chosen = st.pills(
                "Words that were written",
                range(len(names)),
                selection_mode="multi",
                format_func=names.__getitem__,
                key=key,
            )
            for number in chosen:
                st.caption(escaped(looked_at(trace, focus, number)))
    st.session_state[known] = chosen
    return Selection.of(replace(focus, side="query", items=tuple(sorted(chosen))))


def looked_at(trace: Trace, focus: Focus, number: int) -> str:
    """Say in a sentence which frames got most attention for a word."""
    drawn = watching(trace, focus)
    first, behind = drawn.spans[number]
    if behind <= first:
        return f"“{drawn.words[number]}” attends to nothing."
    frames = f"frame {drawn.numbers[first]}"
    if behind - first > 1:
        frames = f"frames {drawn.numbers[first]} to {drawn.numbers[behind - 1]}"
    return f"“{drawn.words[number]}” attends most to {frames}, with {drawn.shares[number]:.0%}."


@st.cache_data(max_entries=16, show_spinner=False)
def _gif(clip: Clip) -> bytes:
    return gif(clip)
