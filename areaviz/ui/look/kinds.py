"""The survey's four kinds of attention, as a map."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from areaviz.data.places import CARDS
from areaviz.ui.shell.frame import page_link
from areaviz.ui.shell.page import TITLES

WHAT_DIFFERS = (
    "Attention mechanisms differ in what they attend to (items or locations) and how: soft"
    " attention takes a weighted average of everything, hard attention picks one."
)


@dataclass(frozen=True, slots=True)
class Kind:
    """One field of the survey's taxonomy of attention."""

    title: str
    what: str
    examples: str
    # The name of the page that shows it, if it is another page.
    page: str = ""

    @property
    def slug(self) -> str:
        """The mechanism in the form of a file name."""
        return self.title.lower().replace(", ", "-")


# Rows: attention to items or to locations. Columns: soft or hard attention.
KINDS: tuple[tuple[Kind, Kind], ...] = (
    (
        Kind(
            "Item-wise, soft",
            "The input is a set of items, such as words. Each item, or each area of neighbouring"
            " items, gets a weight, and the model uses the weighted sum.",
            "Translation with regular and with area attention.",
            "translate",
        ),
        Kind(
            "Item-wise, hard",
            "The model samples one item according to the weights and reads only that one. Sampling"
            " has no gradient, so the model is trained by reinforcement: it tries, and repeats what"
            " worked.",
            "A digit classifier that reads one cell of the picture per step.",
        ),
    ),
    (
        Kind(
            "Location-wise, soft",
            "The input is a whole picture. The model crops one region, rotates and scales it, and"
            " reads the result.",
            "A spatial transformer that straightens a digit before it is read.",
        ),
        Kind(
            "Location-wise, hard",
            "The model picks a location, reads a small window around it, and repeats: one glimpse"
            " after another.",
            "The recurrent attention model, which classifies a digit from six glimpses.",
        ),
    ),
)


def kinds_of_attention() -> None:
    """Draw the map of the four kinds."""
    st.caption(WHAT_DIFFERS)
    for row in KINDS:
        for kind, place in zip(row, st.columns(2), strict=True):
            with place.container(border=True, height="stretch"):
                _card(kind)


def _card(kind: Kind) -> None:
    """Draw one kind: its picture at half its size for sharp screens, and what it does."""
    st.subheader(kind.title, anchor=False)
    content = (CARDS / f"{kind.slug}.png").read_bytes()
    width = int.from_bytes(content[16:20], "big") // 2
    st.image(content, width=width, alt=f"Example of {kind.title.lower()} attention")
    st.write(kind.what)
    st.caption(kind.examples)
    if kind.page:
        page_link(f"pages/{kind.page}.py", f"Open {TITLES[kind.page]}")
