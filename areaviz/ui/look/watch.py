"""The description by a video model, compared with the actual event, and its attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.data.clip_samples import SAMPLES
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.forms.watch_form import WatchPage
from areaviz.ui.look.attribution import attribution, with_attribution
from areaviz.ui.look.explore import explore
from areaviz.ui.look.result_page import explore_changed, up_to_date
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import Cards
from areaviz.ui.what_if.state import apply_link
from areaviz.views.watching import GOLD


def show_watched(
    page: WatchPage, backend: Backend, cards: Cards, requests: Sequence[Request]
) -> None:
    """Run the requests, show the descriptions, and explore their attention."""
    apply_link(page, requests[0], requests[0])
    titles = [cards[request.model].title for request in requests]
    requests = with_attribution(page, cards, requests)
    result = up_to_date(page, backend, requests, titles)
    traces = [with_gold(trace) for trace in result.traces]
    for trace, title in zip(traces, result.titles, strict=True):
        named = f"{escaped(title)}: " if len(traces) > 1 else ""
        st.markdown(f"{named}{conclusion(trace)}")
    if result.is_current:
        beside = partial(attribution, page, cards, requests[0])
        explore_changed(
            page, backend, traces, result.titles, requests[0], result.requests[0], beside
        )
    else:
        explore(page, traces, result.titles, result.requests[0])


def with_gold(trace: Trace) -> Trace:
    """Add to a trace of a sample clip the frames in which its digit acts."""
    clip = trace.request.clip
    sample = SAMPLES.get(clip.name) if clip else None
    if sample is None:
        return trace
    return replace(trace, details={**trace.details, GOLD: sample.acts})


def conclusion(trace: Trace) -> str:
    """Return the description in a Markdown sentence, with its accuracy if it is known."""
    seen = trace.fields[trace.output.field].raw.strip() or "nothing"
    clip = trace.request.clip
    sample = SAMPLES.get(clip.name) if clip else None
    if sample is None:
        return f"Seen: **{escaped(seen)}**"
    if seen == sample.text:
        return f"Seen: **{escaped(seen)}**, which is right."
    return f"Seen: **{escaped(seen)}**; what happens: {escaped(sample.text)}."
