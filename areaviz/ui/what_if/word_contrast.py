"""A word and an alternative: the probabilities of both, before and after the changes."""

from __future__ import annotations

from functools import partial

import streamlit as st

from areaviz.backend.backend import Backend
from areaviz.draw.labels import number_text
from areaviz.measures.faithfulness import (
    MAX_FOIL_CHARACTERS,
    Contrast,
    Odds,
    compute_odds,
    find_output_words,
    join_items,
)
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.progress import draw_progress
from areaviz.ui.app.table import draw_text_table
from areaviz.ui.what_if.experiment import Experiment
from areaviz.ui.what_if.state import WhatIfPage

_PROBABILITIES_KEY = "what_if_odds"


def choose_contrast(
    page: WhatIfPage, backend: Backend, run: Experiment, focus: Focus
) -> Contrast | None:
    """Let the user choose a word and an alternative. Return both if they have probabilities."""
    trace = run.before
    if not _is_generated_text(trace):
        return None
    st.markdown("**Why this word and not another?**")
    asked = _choose_words(page, trace, focus)
    if asked is None:
        return None
    with show_errors("comparing the words"):
        found = [("As it is", _get_probabilities(backend, trace, asked, None))]
        if run.runs:
            found.append(
                ("With the changes", _get_probabilities(backend, trace, asked, run.runs[1]))
            )
        _draw_table(trace, asked, found)
        return asked
    return None


def _is_generated_text(trace: Trace) -> bool:
    """Return whether the output is a text that was produced item by item."""
    output = trace.fields[trace.output.field]
    return "history" in trace.fields and output.is_text and bool(find_output_words(output))


def _choose_words(page: WhatIfPage, trace: Trace, focus: Focus) -> Contrast | None:
    """Let the user choose a word of the output, by default the locked one, and an alternative."""
    output = trace.fields[trace.output.field]
    words = {first: (first, last) for first, last in find_output_words(output)}
    if page.state.word not in words:
        page.set(word=_get_locked_word(trace, focus, words), foil=None)
    names, later = {}, _get_item_offset(trace, focus)
    for first, run in words.items():
        names[first] = f"{join_items(output, *run)} (item {first + later + 1})"
    with st.container(horizontal=True, gap="medium"):
        then = partial(page.set, foil=None)
        page.draw_widget(
            st.selectbox,
            "Why",
            "word",
            list(names),
            format_func=names.__getitem__,
            width=240,
            after_change=then,
        )
        first, last = words[page.state.word if page.state.word is not None else next(iter(words))]
        others = _list_alternatives(trace, first, last)
        typed = page.state.foil
        if typed and typed not in others:
            others.append(typed)
        page.draw_widget(
            st.selectbox,
            "And not",
            "foil",
            others,
            index=None,
            accept_new_options=True,
            placeholder="Choose or type another word" if others else "Type another word",
            width=300,
        )
    foil = page.state.foil
    return Contrast(first, last, foil[:MAX_FOIL_CHARACTERS]) if foil else None


def _list_alternatives(trace: Trace, first: int, last: int) -> list[str]:
    """Return the model's next most probable words; [] if the word has several items."""
    if last - first > 1:
        return []
    labels = [label for label, _ in trace.output.alternatives[first]]
    own = trace.fields[trace.output.field].labels[first]
    # The end symbol and other special symbols are not words.
    return [one for one in labels if one.strip() and not one.startswith("⟨") and one != own]


def _get_locked_word(trace: Trace, focus: Focus, words: dict[int, tuple[int, int]]) -> int:
    """Return the word that contains a locked item of the output, else the first word."""
    later = _get_item_offset(trace, focus)
    is_output = trace.maps[focus.site].query == trace.output.field or later
    for first, last in words.values():
        locked = (item - later for item in focus.items)
        if is_output and focus.side == "query" and any(first <= item < last for item in locked):
            return first
    return next(iter(words))


def _get_item_offset(trace: Trace, focus: Focus) -> int:
    """Return the offset between the items of the output and the text that attends.

    Decoders of external models attend from their input text, whose first item has no predecessor.
    """
    return int(trace.maps[focus.site].query == "history")


def _get_probabilities(
    backend: Backend, trace: Trace, asked: Contrast, changed: Trace | None
) -> Odds:
    """Return the probabilities. Cache the latest ones, because the panel is redrawn often."""
    requests = trace.request, None if changed is None else changed.request
    held: dict[tuple[Request, Request | None, Contrast], Odds] = st.session_state.get(
        _PROBABILITIES_KEY, {}
    )
    key = (*requests, asked)
    if key not in held:
        with draw_progress("Reading the other word") as report:
            found = compute_odds(trace, asked, partial(backend.trace, progress=report), changed)
        others = {one: value for one, value in held.items() if one[2] == asked}
        held = st.session_state[_PROBABILITIES_KEY] = {**others, key: found}
    return held[key]


def _draw_table(trace: Trace, asked: Contrast, found: list[tuple[str, Odds]]) -> None:
    word = join_items(trace.fields[trace.output.field], asked.first, asked.last)
    columns = {
        "": [name for name, _ in found],
        f"p({escape_markdown(word)})": [_format_share(one.word) for _, one in found],
        f"p({escape_markdown(asked.foil)})": [_format_share(one.foil) for _, one in found],
        "Difference": [number_text(one.difference, "+.3f") for _, one in found],
        "Log ratio": [number_text(one.log_ratio, "+.2f") for _, one in found],
    }
    draw_text_table(columns)
    st.caption(
        "The probability of each after the same words, multiplied over its items. A log ratio above"
        " 0 favours the word that the model wrote. A log ratio of 0.69 is twice as probable."
    )


def _format_share(probability: float) -> str:
    """Format a probability. Small values, which are typical of alternatives, get more digits."""
    return f"{probability:.3f}" if probability >= 0.001 else f"{probability:.6f}"
