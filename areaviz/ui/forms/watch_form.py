"""What Watch asks: the clip, the model, and how it decodes."""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.trace.request import Request
from areaviz.ui.forms.clip_input import ClipState, clip_input
from areaviz.ui.forms.options import ModelState, pickers, with_options
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Cards
from areaviz.ui.what_if.state import WhatIfState


@dataclass(frozen=True)
class WatchState(ClipState, ModelState, WhatIfState):
    """What Watch holds."""


WatchPage = Page[WatchState]


def watch_form(page: WatchPage, cards: Cards) -> tuple[Request, ...]:
    """Draw the form; returns what to run, two requests when comparing."""
    clip = clip_input(page)
    card, other = pickers(page, cards)
    return with_options(page, Request(card.name, "", clip=clip), other)
