"""The description by a video model, compared with the actual event, and its attention."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from areaviz.samples.own_media import CLIP_SAMPLES
from areaviz.show.strip.strip import GOLD_FRAMES
from areaviz.trace.record import Trace
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.results.result_page import draw_traces


def add_gold_frames(trace: Trace) -> Trace:
    """Add to a trace of a sample clip the frames in which its digit acts."""
    clip = trace.request.clip
    sample = CLIP_SAMPLES.get(clip.name) if clip else None
    if sample is None:
        return trace
    return replace(trace, details={**trace.details, GOLD_FRAMES: sample.acts})


def describe_clip(trace: Trace) -> str:
    """Return the description in a Markdown sentence, with its accuracy if it is known."""
    seen = trace.fields[trace.output.field].raw.strip() or "nothing"
    clip = trace.request.clip
    sample = CLIP_SAMPLES.get(clip.name) if clip else None
    if sample is None:
        return f"Seen: **{escape_markdown(seen)}**."
    if seen == sample.text:
        return f"Seen: **{escape_markdown(seen)}**, which is right."
    return (
        f"Seen: **{escape_markdown(seen)}**, but what happens is: {escape_markdown(sample.text)}."
    )


draw_descriptions = partial(draw_traces, say=describe_clip, complete=add_gold_frames)
"""Run the requests, show the descriptions, and explore their attention."""
