"""The form of Watch: clip, model and decoding."""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.trace.request import Request
from areaviz.ui.forms.clip_input import ClipState, clip_input
from areaviz.ui.forms.input_row import input_row
from areaviz.ui.forms.options import (
    ModelState,
    compared_model,
    model_picker,
    options_popover,
    run_options,
    with_options,
)
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Cards
from areaviz.ui.what_if.state import WhatIfState


@dataclass(frozen=True)
class WatchState(ClipState, ModelState, WhatIfState):
    """The state of the page Watch."""


WatchPage = Page[WatchState]


def watch_form(page: WatchPage, cards: Cards) -> tuple[Request, ...]:
    """Draw the form; return the requests, two when comparing."""
    with input_row(page):
        clip = clip_input(page)
        card = model_picker(page, cards)
        with options_popover(page):
            run_options(page, card)
    other = compared_model(page, card, cards)
    return with_options(page, Request(card.name, "", clip=clip), other)
