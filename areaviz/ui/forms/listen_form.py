"""The form of Listen: the sound, the model, and the normalisation of its scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.media.sounds import MAX_SOUND_MEGABYTES, SOUND_FORMATS_TEXT, decode_sound
from areaviz.samples.own_media import SOUND_SAMPLES, get_sound_sample
from areaviz.trace.changes import Share
from areaviz.trace.request import SECONDS, Request
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import Cards, Link
from areaviz.ui.forms.input_row import draw_input_row
from areaviz.ui.forms.medium_input import InputOffer, MediumState, draw_medium_input
from areaviz.ui.forms.options import (
    ModelState,
    add_options,
    choose_model,
    draw_options_popover,
    draw_run_options,
    get_compared_model,
)
from areaviz.ui.what_if.state import WhatIfState

SITE = "encoder-decoder"
"""The attention type from the transcript to the sound."""
SHARPNESS_LABELS = {0.5: "× 0.5", 1.0: "As trained", 2.0: "× 2", 4.0: "× 4"}
WINDOW_LABELS = {0: "None", 10: "0.4 s", 20: "0.8 s", 40: "1.6 s"}
"""Window sizes, in encoder items before and after. A second has 25 items."""


@dataclass(frozen=True)
class ListenState(MediumState, ModelState, WhatIfState):
    """The state of the page Listen."""

    OFFER = InputOffer(
        noun="sound",
        samples=SOUND_SAMPLES,
        sample=get_sound_sample,
        sample_label="Recording",
        decode=decode_sound,
        file_label="Sound file",
        formats=f"{SOUND_FORMATS_TEXT}, at most {MAX_SOUND_MEGABYTES} MB and {SECONDS[1]:.0f} seconds",
        megabytes=MAX_SOUND_MEGABYTES,
        about=lambda sound: f"{sound.seconds:.1f} seconds",
        recorder="Say digits in English, one after the other",
    )
    sharpness: float = 1.0
    is_smooth: bool = False
    window: int = 0

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's switches. Other changes of the link go to What if."""
        share = Share(SITE)
        for change in link.request.changes:
            if isinstance(change, Share) and _is_switched(change):
                share = change
        return replace(
            super().from_link(link),
            sharpness=share.factor,
            is_smooth=share.smooth,
            window=share.window,
        )


def _is_switched(share: Share) -> bool:
    """Return whether the page's switches can express this normalisation of scores."""
    return share.site == SITE and share.factor in SHARPNESS_LABELS and share.window in WINDOW_LABELS


def draw_listen_form(page: Page[ListenState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests, two when comparing.

    If a switch is set and no other model was chosen, the second request has no switches set.
    """
    with draw_input_row(page):
        sound = draw_medium_input(page)
        card = choose_model(page, cards)
        with draw_options_popover(page):
            draw_run_options(page, card)
            share = _draw_switches(page)
    other = get_compared_model(page, card, cards)
    trained = add_options(page, Request(card.name, "", sound=sound), other)
    if share == Share(SITE):
        return trained
    switched = tuple(replace(request, changes=(share,)) for request in trained)
    return switched if other else (*switched, *trained)


def _draw_switches(page: Page[ListenState]) -> Share:
    """Draw the switches for the normalisation of scores. The learned weights stay unchanged."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        factor = page.choose_segment("Sharpen", "sharpness", SHARPNESS_LABELS)
        window = page.choose_segment("Window each way", "window", WINDOW_LABELS)
        help = (
            "Each score goes through a sigmoid instead of the softmax, so that one item is not read"
            " at the cost of all others."
        )
        smooth = page.draw_widget(st.toggle, "Smooth", "is_smooth", help=help)
    return Share(SITE, factor, bool(smooth), window)
