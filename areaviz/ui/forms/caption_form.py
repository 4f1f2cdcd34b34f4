"""What Caption asks: the picture, the model and how it decodes."""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.trace.request import Request
from areaviz.ui.forms.model_choice import PictureModelState, fitting_picture
from areaviz.ui.forms.options import pickers, with_options
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Cards
from areaviz.ui.what_if.state import WhatIfState

CELLS = "{size} rows and {size} columns of cells"
LARGEST_AREA = 4


@dataclass(frozen=True)
class CaptionState(PictureModelState, WhatIfState):
    """What Caption holds."""


def caption_form(page: Page[CaptionState], cards: Cards) -> tuple[Request, ...]:
    """Draw the form; returns what to run, nothing while there is no picture."""
    picture = fitting_picture(page, cards)
    card, other = pickers(page, cards, LARGEST_AREA, CELLS)
    if picture is None:
        return ()
    return with_options(page, Request(card.name, "", picture=picture), other)
