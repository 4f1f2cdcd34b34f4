"""The survey's map of attention: what is attended to (items, locations) and how (softly, by a hard
choice).
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from areaviz.ui.shell.frame import page_link


@dataclass(frozen=True, slots=True)
class Kind:
    """One field of the map; `page` is the page that shows it."""

    title: str
    what: str
    examples: str
    page: str


KINDS: tuple[tuple[Kind, Kind], ...] = (
    (
        Kind(
            "Item-wise, soft",
            "The memory is a set of items, such as the letters of a sentence. Every item, or every"
            " area of items, gets a weight, and the model reads the weighted sum.",
            "Translation with regular and with area attention.",
            "pages/translate.py",
        ),
        Kind(
            "Item-wise, hard",
            "One item is drawn by chance according to the weights, and only that one is read."
            " Learning needs a reward instead of a gradient through the choice.",
            "A digit reader that reads one cell of a picture at each look.",
            "pages/four_ways.py",
        ),
    ),
    (
        Kind(
            "Location-wise, soft",
            "The memory is a whole picture or map of features. The model computes a smooth"
            " transformation of it and reads the part that the transformation cuts out.",
            "A spatial transformer that straightens a digit before it is read.",
            "pages/four_ways.py",
        ),
        Kind(
            "Location-wise, hard",
            "The model chooses a place in the picture and reads only a small window around it, one"
            " glimpse after another.",
            "The recurrent attention model, which reads a digit by six glimpses.",
            "pages/four_ways.py",
        ),
    ),
)


PAGES = {"pages/translate.py": "Translate", "pages/four_ways.py": "Four ways to look"}


def taxonomy() -> None:
    """The 2x2 as cards; each opens the page that shows it."""
    for row in KINDS:
        for kind, place in zip(row, st.columns(2), strict=True):
            with place.container(border=True, height="stretch"):
                st.subheader(kind.title, anchor=False)
                st.write(kind.what)
                st.caption(kind.examples)
                page_link(kind.page, f"Open {PAGES[kind.page]}")
