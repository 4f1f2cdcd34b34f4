"""A sentence translated with different pictures, side by side, with attention on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.trace.record import Trace
from areaviz.ui.forms.picture_input import small_picture
from areaviz.ui.forms.picture_translation_form import (
    SIGHTS,
    Asked,
    PictureTranslationPage,
)
from areaviz.ui.look.attribution import attribution_tab, with_attribution
from areaviz.ui.look.chart import output_text, warning
from areaviz.ui.look.explore import explore
from areaviz.ui.look.result_page import explore_changed, up_to_date
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import Cards
from areaviz.ui.what_if.state import apply_link

SIDE = 132
"""Longest side of the small pictures in pixels."""


def side_by_side(
    page: PictureTranslationPage, backend: Backend, cards: Cards, asked: Asked
) -> None:
    """Run the requests, show the translation with each picture, and explore some of them."""
    requests = with_attribution(page, cards, list(asked.sights.values()))
    sights = dict(zip(asked.sights, requests, strict=True))
    result = up_to_date(page, backend, requests, list(sights))
    traces = dict(zip(result.titles, result.traces, strict=True))
    with st.container(key="sights"):
        places = st.columns(len(traces), gap="medium")
        for (sight, trace), place in zip(traces.items(), places, strict=True):
            with place.container(border=True, height="stretch"):
                _sight(trace, SIGHTS[sight], result.traces[0])
    chosen = _chosen(page, result.titles)
    seen, titles = [traces[sight] for sight in chosen], [SIGHTS[sight] for sight in chosen]
    if not result.is_current:
        explore(page, seen, titles)
        return
    first = sights[chosen[0]]
    apply_link(page, first, asked.link)
    link = replace(asked.link, attribution=first.attribution)
    explore_changed(page, backend, seen, titles, first, link, attribution_tab(page, cards, first))


def _sight(trace: Trace, title: str, first: Trace) -> None:
    """Draw one run: its picture, its output, and the difference from the first output."""
    st.caption(title)
    with st.container(key=f"translation_sight_{title}", gap="small"):
        if trace.request.picture is None:
            st.caption("no picture")
        else:
            small_picture(trace.request.picture, SIDE, "What the model looks at")
        output_text(trace)
        if trace is not first:
            st.caption(_difference(_output(trace), _output(first)))
        warning(trace)


def _output(trace: Trace) -> str:
    return trace.fields[trace.output.field].raw


def _difference(written: str, first: str) -> str:
    """Describe which words differ from those of the first translation."""
    if written == first:
        return "the same as the first"
    new, missing = _only(written, first), _only(first, written)
    if new and missing:
        return escaped(f"{new} instead of {missing}")
    if new or missing:
        return escaped(f"also {new}" if new else f"without {missing}")
    return "the same words in another order"


def _only(one: str, other: str) -> str:
    """Return the words of one sentence that are not in the other, in quotes."""
    known = other.split()
    return ", ".join(f"“{word}”" for word in dict.fromkeys(one.split()) if word not in known)


def _chosen(page: PictureTranslationPage, runs: Sequence[str]) -> list[str]:
    """Let the user choose the runs to explore, at least one."""
    chosen = page.state.looked_into(runs)
    if len(runs) > 1:
        page.set(looked=chosen)
        page.pills("Look into the attention", "looked", {run: SIGHTS[run] for run in runs})
    return chosen
