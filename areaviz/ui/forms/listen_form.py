"""What Listen asks: the sound, the model, and how its scores become weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.trace.interventions import Share
from areaviz.trace.request import Request
from areaviz.ui.forms.options import ModelState, pickers, with_options
from areaviz.ui.forms.sound_input import SoundState, sound_input
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Cards, Link
from areaviz.ui.what_if.state import WhatIfState

SITE = "encoder-decoder"
"""Where a listener attends to the sound."""
FACTORS = {0.5: "× 0.5", 1.0: "As trained", 2.0: "× 2", 4.0: "× 4"}
WINDOWS = {0: "None", 10: "0.4 s", 20: "0.8 s", 40: "1.6 s"}
"""Items before and behind, of which a second has 25."""


@dataclass(frozen=True)
class ListenState(SoundState, ModelState, WhatIfState):
    """What Listen holds."""

    sharpness: float = 1.0
    is_smooth: bool = False
    window: int = 0

    def from_link(self, link: Link) -> Self:
        """With the switches of a link; a change that they cannot say is left to What if."""
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


ListenPage = Page[ListenState]


def _is_switched(share: Share) -> bool:
    """Whether the switches of the page can say how scores become weights here."""
    return share.site == SITE and share.factor in FACTORS and share.window in WINDOWS


def listen_form(page: ListenPage, cards: Cards) -> tuple[Request, ...]:
    """Draw the form; returns what to run, two requests when comparing.

    Where a switch is set and no other model stands beside, the same model as trained does.
    """
    sound = sound_input(page)
    card, other = pickers(page, cards)
    share = _switches(page)
    trained = with_options(page, Request(card.name, "", sound=sound), other)
    if share == Share(SITE):
        return trained
    switched = tuple(replace(request, changes=(share,)) for request in trained)
    return switched if other else (*switched, *trained)


def _switches(page: ListenPage) -> Share:
    """How scores become weights; what the model learned stays the same."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        factor = page.segments("Sharpen", "sharpness", FACTORS)
        window = page.segments("Window each way", "window", WINDOWS)
        help = (
            "Each score goes through a sigmoid instead of the softmax, so that one item is not read"
            " at the cost of all others."
        )
        smooth = page.widget(st.toggle, "Smooth", "is_smooth", help=help)
    return Share(SITE, factor, bool(smooth), window)
