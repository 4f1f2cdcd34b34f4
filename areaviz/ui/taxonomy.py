"""The survey's map of attention: what is attended to (items, locations) and how (softly, by a hard choice)."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st


@dataclass(frozen=True, slots=True)
class Kind:
    """One field of the map; `page` is the page that shows it, or "" where this version has none."""

    title: str
    what: str
    examples: str
    page: str = ""


KINDS: tuple[tuple[Kind, Kind], ...] = (
    (
        Kind(
            "Item-wise, soft",
            "The memory is a set of items, such as the letters of a sentence. Every item, or every area of items, gets "
            "a weight, and the model reads the weighted sum.",
            "Translation with regular and with area attention.",
            "pages/translate.py",
        ),
        Kind(
            "Item-wise, hard",
            "One item is drawn by chance according to the weights, and only that one is read. Learning needs a reward "
            "instead of a gradient through the choice.",
            "Hard attention for image captions.",
        ),
    ),
    (
        Kind(
            "Location-wise, soft",
            "The memory is a whole picture or map of features. The model computes a smooth transformation of it and "
            "reads the part that the transformation cuts out.",
            "Spatial transformer networks.",
        ),
        Kind(
            "Location-wise, hard",
            "The model chooses a place in the picture and reads only a small window around it, one glimpse after "
            "another.",
            "The recurrent attention model.",
        ),
    ),
)


def taxonomy() -> None:
    """The 2x2 as cards; those with a demonstration open it, the others say that there is none yet."""
    for row in KINDS:
        for kind, place in zip(row, st.columns(2), strict=True):
            with place.container(border=True, height="stretch"):
                st.subheader(kind.title, anchor=False)
                st.write(kind.what)
                st.caption(kind.examples)
                if kind.page:
                    st.page_link(kind.page, label="Open Translate")
                else:
                    st.caption("This version has no demonstration of it.")
