"""The transcript of a speech recogniser, compared with the reference, and its attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from areaviz.draw.labels import pluralise
from areaviz.measures.references import count_edits
from areaviz.samples.own_media import SOUND_SAMPLES
from areaviz.show.sound.sound import GOLD_TIMES
from areaviz.trace.changes import Share
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.state import Cards
from areaviz.ui.results.result_page import draw_traces
from areaviz.ui.what_if.change_texts import describe_normalisation


def _get_title(request: Request, requests: Sequence[Request], cards: Cards) -> str:
    """Return the name of the model; if it runs twice, the function that normalises its scores."""
    if len({one.model for one in requests}) == len(requests):
        return cards[request.model].title
    for change in request.changes:
        if isinstance(change, Share):
            return describe_normalisation(change)
    return "As trained"


def add_gold_times(trace: Trace) -> Trace:
    """Add to a trace of a sample recording the times in seconds at which its digits are spoken."""
    sound = trace.request.sound
    sample = SOUND_SAMPLES.get(sound.name) if sound else None
    if sample is None:
        return trace
    return replace(trace, details={**trace.details, GOLD_TIMES: sample.spoken})


def describe_transcript(trace: Trace) -> str:
    """Return the transcript in a Markdown sentence, with its accuracy if it is known."""
    digits = trace.fields[trace.output.field].raw.strip()
    heard = " ".join(digits) or "nothing"
    sound = trace.request.sound
    sample = SOUND_SAMPLES.get(sound.name) if sound else None
    if sample is None:
        return f"Heard: **{escape_markdown(heard)}**"
    wrong = count_edits(digits, sample.text)
    if not wrong:
        return f"Heard: **{escape_markdown(heard)}**, every digit right."
    said = " ".join(sample.text)
    return f"Heard: **{escape_markdown(heard)}**, said: {said}, {pluralise(wrong, 'mistake')}."


draw_transcripts = partial(
    draw_traces, say=describe_transcript, complete=add_gold_times, name=_get_title
)
"""Run the requests, show the transcripts, and explore their attention."""
