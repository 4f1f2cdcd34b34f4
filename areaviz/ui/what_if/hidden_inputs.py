"""Inputs to hide from a model: words, facts, points, frames, cells, or a part of a sound."""

from __future__ import annotations

import numpy as np
import streamlit as st

from areaviz.draw.labels import escape_controls
from areaviz.measures.spans import find_word_runs
from areaviz.trace.changes import Change, Hide
from areaviz.trace.kinds import find_kind_of_field
from areaviz.trace.query import is_one_text
from areaviz.trace.request import RATE, Focus
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.what_if.change_texts import list_candidate_areas
from areaviz.ui.what_if.experiment import Experiment
from areaviz.ui.what_if.state import WhatIfPage

MAX_WORDS = 60
STEP_SECONDS = 0.05
"""Step in seconds for the start and end of a hidden part of a sound."""


def hide_words(page: WhatIfPage, run: Experiment, _: Focus) -> Change | None:
    """Let the user choose which words of the sentence to hide. A word includes all its items."""
    source = run.before.fields[get_text_field(run)]
    runs = find_word_runs(source)
    if len(runs) > MAX_WORDS:
        st.caption(f"Words can be hidden in sentences of up to {MAX_WORDS} words.")
        return None
    words = {}
    for place, (start, end) in enumerate(runs):
        word = source.raw[source.anchors[start, 0] : source.anchors[end - 1, 1]]
        words[place] = escape_markdown(word.strip())
    chosen = page.choose_pills("Words", "words", words)
    st.caption(
        "Nothing attends to a hidden word any more, in any layer. Its position remains, so the"
        " model can still tell how long the word is."
    )
    items = tuple(item for place in sorted(chosen) for item in range(*runs[place]))
    return Hide(source.name, items) if items else None


def get_text_field(run: Experiment) -> str:
    """Return the name of the input text. If a model has only one text, this is its history."""
    return "history" if is_one_text(run.before) else "source"


def hide_items(page: WhatIfPage, run: Experiment, focus: Focus) -> Change | None:
    """Let the user choose facts, points or frames to hide, by their labels."""
    memory = run.before.fields[run.before.maps[focus.site].memory]
    names = {
        item: escape_markdown(escape_controls(label)) for item, label in enumerate(memory.labels)
    }
    kind = find_kind_of_field(memory)
    chosen = page.choose_pills(kind.items.capitalize(), "words", names)
    st.caption(f"A hidden item gets no weight at any step. {kind.hidden}")
    return Hide(memory.name, tuple(sorted(chosen))) if chosen else None


def hide_moment(page: WhatIfPage, run: Experiment, focus: Focus) -> Change | None:
    """Let the user choose a part of a sound to hide, in seconds."""
    memory = run.before.fields[run.before.maps[focus.site].memory]
    # Round down to whole steps, so that the end can be chosen.
    longest = int(memory.anchors[-1, 1] / RATE / STEP_SECONDS) * STEP_SECONDS
    start, end = (min(second, longest) for second in page.state.seconds)
    page.set(seconds=(start, end))
    start, end = page.draw_widget(
        st.slider,
        "From and to, in seconds",
        "seconds",
        0.0,
        longest,
        step=STEP_SECONDS,
        format="%.2f",
    )
    st.caption(
        "The model reads the recording as if it did not have this moment. Up to a tenth of a second"
        " at each edge of the moment is still part of the neighbouring items."
    )
    begins_M, ends_M = memory.anchors.T
    is_in_M = (begins_M < round(end * RATE)) & (ends_M > round(start * RATE))
    return Hide(memory.name, tuple(np.flatnonzero(is_in_M).tolist())) if end > start else None


def hide_cells(_: WhatIfPage, run: Experiment, focus: Focus) -> Change | None:
    """Let the user hide the selected cells, or those to which a selected word attends most."""
    attention = run.before.maps[focus.site]
    items, which = focus.items, "the chosen cells"
    if focus.side == "query":
        heaviest = next(iter(list_candidate_areas(run.before, focus)), None)
        items = attention.grid.items_of(heaviest) if heaviest else ()
        which = "the cells of the heaviest area of the chosen word"
    if not items or attention.memory != "picture":
        st.caption("First click cells of the picture above, or a word that attends to it.")
        return None
    st.caption(
        f"Nothing attends to {which} any more, in any layer ({len(items)} cells). The cells"
        " next to them have already read them, so some of their content may remain. Another picture"
        " is a stricter test."
    )
    return Hide("picture", items)
