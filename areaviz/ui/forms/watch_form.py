"""The form of Watch: clip, model and decoding."""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.media.clips import (
    CLIP_FORMATS_TEXT,
    CONVERT_TO_CLIP,
    MAX_CLIP_MEGABYTES,
    MOST_FRAMES,
    decode_clip,
)
from areaviz.samples.own_media import CLIP_SAMPLES, get_clip_sample
from areaviz.trace.request import Request
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import Cards
from areaviz.ui.forms.input_row import draw_input_row
from areaviz.ui.forms.medium_input import InputOffer, MediumState, draw_medium_input
from areaviz.ui.forms.options import ModelState, build_compared_requests, choose_model_and_options
from areaviz.ui.what_if.state import WhatIfState


@dataclass(frozen=True)
class WatchState(MediumState, ModelState, WhatIfState):
    """The state of the page Watch."""

    OFFER = InputOffer(
        noun="clip",
        samples=CLIP_SAMPLES,
        sample=get_clip_sample,
        sample_label="What happens",
        decode=decode_clip,
        file_label="Animation",
        formats=f"{CLIP_FORMATS_TEXT}, at most {MAX_CLIP_MEGABYTES} MB and {MOST_FRAMES} frames",
        megabytes=MAX_CLIP_MEGABYTES,
        about=lambda clip: f"{clip.frames} frames of {clip.width} × {clip.height} pixels",
        advice=f"Of a recorded video (MP4, WebM) make a GIF first, for example by `{CONVERT_TO_CLIP}`",
    )


def draw_watch_form(page: Page[WatchState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing."""
    with draw_input_row(page):
        clip = draw_medium_input(page)
        card = choose_model_and_options(page, cards)
    return build_compared_requests(page, card, cards, Request(card.name, "", clip=clip))
