"""The description by a video model, compared with the actual event, and its attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from areaviz.backend.base import Backend
from areaviz.data.clip_samples import SAMPLES
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.forms.watch_form import WatchPage
from areaviz.ui.look.result_page import show_traces
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import Cards
from areaviz.views.watching import GOLD, watching
from areaviz.views.watching import VIEW as WATCHING

SITE = "encoder-decoder"
LEAST_SHARE = 0.5


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
    return f"{said} {areas_said(trace)}".strip()


def areas_said(trace: Trace) -> str:
    """Say in Markdown for which words several frames were watched as one, "" if for none.

    Only areas with at least half of a word's attention count.
    """
    focus = Focus(SITE)
    if SITE not in trace.maps or not WATCHING.fits(trace, focus):
        return ""
    drawn = watching(trace, focus)
    groups: list[tuple[str, str]] = []
    for word, (first, end), share in zip(drawn.words, drawn.spans, drawn.shares, strict=True):
        if end - first < 2 or share < LEAST_SHARE:
            continue
        frames = f"frames {drawn.numbers[first]} to {drawn.numbers[end - 1]}"
        if groups and groups[-1][1] == frames:
            groups[-1] = f"{groups[-1][0]} {word}", frames
        else:
            groups.append((word, frames))
    if not groups:
        return ""
    parts = [f"for **{escaped(words)}** {frames}" for words, frames in groups]
    listed = ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]
    return f"It watched several frames as one area: {listed}."
