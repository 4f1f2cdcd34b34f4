"""The description by a video model, compared with the actual event, and its attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from areaviz.backend.base import Backend
from areaviz.data.clip_samples import SAMPLES
from areaviz.drawing.watching import GOLD
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.forms.watch_form import WatchPage
from areaviz.ui.look.result_page import show_traces
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import Cards


def show_watched(
    page: WatchPage, backend: Backend, cards: Cards, requests: Sequence[Request]
) -> None:
    """Run the requests, show the descriptions, and explore their attention."""
    show_traces(page, backend, cards, requests, conclusion, with_gold)


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
        said = f"Seen: **{escaped(seen)}**."
    elif seen == sample.text:
        said = f"Seen: **{escaped(seen)}**, which is right."
    else:
        said = f"Seen: **{escaped(seen)}**; what happens: {escaped(sample.text)}."
    return said
