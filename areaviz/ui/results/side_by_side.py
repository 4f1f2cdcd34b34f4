"""A sentence translated with different pictures, side by side, with attention on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from areaviz.backend.backend import Backend
from areaviz.samples.scenes import MASK
from areaviz.show.message import OPENS_AT
from areaviz.trace.query import find_words, item_shares
from areaviz.trace.record import Field, Trace
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.state import Cards
from areaviz.ui.forms.picture_input import draw_small_picture
from areaviz.ui.forms.picture_translation_form import (
    PICTURE_CONDITIONS,
    PictureTranslationPage,
    PictureTranslationRun,
)
from areaviz.ui.results.attribution import add_attribution, build_attribution_tab
from areaviz.ui.results.chart import draw_warnings
from areaviz.ui.results.explore import draw_results
from areaviz.ui.results.result_page import draw_explored, get_current_result
from areaviz.ui.what_if.state import apply_link

PICTURE_SIDE_PX = 72
"""Longest side of the small pictures in pixels."""


def draw_side_by_side(
    page: PictureTranslationPage, backend: Backend, cards: Cards, asked: PictureTranslationRun
) -> None:
    """Run the requests, show the translation with each picture, and explore some of them."""
    requests = add_attribution(page, cards, list(asked.requests.values()))
    by_condition = dict(zip(asked.requests, requests, strict=True))
    result = get_current_result(page, backend, requests, list(by_condition))
    traces = dict(zip(result.titles, light_decided_word(result.traces), strict=True))
    chosen = page.state.list_explored(result.titles)
    seen, titles = (
        [traces[sight] for sight in chosen],
        [PICTURE_CONDITIONS[sight] for sight in chosen],
    )

    def draw_runs() -> None:
        with st.container(key="sights"):
            for sight, trace in traces.items():
                with st.container(border=True):
                    _draw_run(trace, PICTURE_CONDITIONS[sight], result.traces[0])

    if not result.is_current:
        draw_results(page, seen, titles, before=draw_runs)
        return
    first = by_condition[chosen[0]]
    apply_link(page, first, asked.link)
    link = replace(asked.link, attribution=first.attribution)
    tabs = build_attribution_tab(page, cards, first)
    draw_explored(page, backend, seen, titles, first, link, tabs, before=draw_runs)


def _draw_run(trace: Trace, title: str, first: Trace) -> None:
    """Draw one run: its picture and its output, with the words that differ from the first."""
    with st.container(key=f"translation_sight_{title}", gap="xxsmall"):
        st.caption(title)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if trace.request.picture is not None:
                draw_small_picture(
                    trace.request.picture, PICTURE_SIDE_PX, "What the model looks at"
                )
            st.markdown(_mark_differences(_get_output(trace), _get_output(first)))
        draw_warnings(trace)


def _get_output(trace: Trace) -> str:
    return trace.fields[trace.output.field].raw


def _mark_differences(written: str, first: str) -> str:
    """Return an output as Markdown, with the words that the first output lacks in bold."""
    known = first.split()
    marked = [
        escape_markdown(word) if word in known else f"**{escape_markdown(word)}**"
        for word in written.split()
    ]
    return " ".join(marked) or "The model produced no output."


def light_decided_word(traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces so that the first one opens at the word that its picture decides."""
    first, *others = traces
    item = find_decided_word(first, [_get_output(trace) for trace in others])
    if item is None:
        return [first, *others]
    return [replace(first, details={**first.details, OPENS_AT: str(item)}), *others]


def find_decided_word(trace: Trace, others: Sequence[str]) -> int | None:
    """Return the first item of the word that the picture decides, None if no word is hidden.

    Candidates are the words that an output with a different picture lacks. Of these, the word that
    attends most to the hidden words is chosen.

    Args:
        trace: the run with the picture.
        others: the outputs with other pictures.
    """
    sides = trace.output.field, "source"
    maps = (one for one in trace.maps.values() if (one.query, one.memory) == sides)
    attention = next(maps, None)
    if attention is None:
        return None
    source, target = trace.fields[attention.memory], trace.fields[attention.query]
    hidden = [item for item, label in enumerate(source.labels) if label.strip() == MASK]
    if not hidden:
        return None
    shares_LQN = [item_shares(attention, layer, None) for layer in range(attention.layers)]
    share_Q = np.mean(shares_LQN, axis=0)[:, hidden].sum(-1)
    texts = {run: _join_items(target, run) for run in find_words(target)}
    runs = [run for run, text in texts.items() if text]
    new = [run for run in runs if any(texts[run] not in other.split() for other in others)]
    best = max(new or runs, key=lambda run: float(share_Q[slice(*run)].mean()), default=None)
    return None if best is None else best[0]


def _join_items(field: Field, run: tuple[int, int]) -> str:
    """Return the text of a run of items."""
    start, end = run
    return field.raw[field.anchors[start, 0] : field.anchors[end - 1, 1]].strip()
