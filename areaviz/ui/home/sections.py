"""The front page: a stored example that can be pointed at, ready examples, kinds of attention."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from areaviz.data.picture_samples import SAMPLES, thumbnail
from areaviz.data.places import ASSETS
from areaviz.trace import codec
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.components.ribbon import ribbon
from areaviz.ui.forms.samples import EXAMPLES, Example
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.frame import page_link
from areaviz.ui.shell.state import link_params

STORED = ASSETS / "home.npz"
FOCUS = Focus("encoder-decoder", layer=1, items=(32,))


def picture() -> None:
    """Draw the stored example in the real ribbon."""
    with show_errors("showing the example"), st.container(border=True):
        trace = _stored(STORED.stat().st_mtime_ns)
        ribbon(trace, FOCUS, key="home")
        st.caption("A stored example. Point at any part of either sentence; click to keep it lit.")


@st.cache_resource(show_spinner=False, max_entries=1)
def _stored(modified: int) -> Trace:
    return codec.load(STORED)


def gallery() -> None:
    """Draw a card for each ready example, two a row."""
    for left in range(0, len(EXAMPLES), 2):
        for example, place in zip(EXAMPLES[left : left + 2], st.columns(2), strict=False):
            with place.container(border=True, height="stretch"):
                st.subheader(example.title, anchor=False)
                with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
                    if example.picture:
                        title = SAMPLES[example.picture].title
                        st.image(thumbnail(example.picture), width=72, alt=title)
                    if example.text:
                        st.text(example.text)
                st.caption(example.note)
                page_link(example.page, "Open this example", link_of(example))


def link_of(example: Example) -> dict[str, str]:
    """The address parameters of an example, which open its text, picture, settings and focus.

    The model is left to the page, which knows which ones there are.
    """
    request = Request("", example.text, area_size=example.area_size)
    params = link_params(request, example.focus, example.view, example.compare)
    params.pop("model", None)
    for name in ("picture", "hidden"):
        value = getattr(example, name)
        if value:
            params[name] = value
    return params


@dataclass(frozen=True, slots=True)
class Kind:
    """One field of the survey's map of attention."""

    title: str
    what: str
    examples: str
    # The file and the title of the page that shows it.
    page: str = "pages/four_ways.py"
    page_title: str = "Four ways to look"


# What is attended to (items, locations) and how (softly, by a hard choice): a row each.
KINDS: tuple[tuple[Kind, Kind], ...] = (
    (
        Kind(
            "Item-wise, soft",
            "The memory is a set of items, such as the letters of a sentence. Every item, or every"
            " area of items, gets a weight, and the model reads the weighted sum.",
            "Translation with regular and with area attention.",
            "pages/translate.py",
            "Translate",
        ),
        Kind(
            "Item-wise, hard",
            "One item is drawn by chance according to the weights, and only that one is read."
            " Learning needs a reward instead of a gradient through the choice.",
            "A digit reader that reads one cell of a picture at each look.",
        ),
    ),
    (
        Kind(
            "Location-wise, soft",
            "The memory is a whole picture or map of features. The model computes a smooth"
            " transformation of it and reads the part that the transformation cuts out.",
            "A spatial transformer that straightens a digit before it is read.",
        ),
        Kind(
            "Location-wise, hard",
            "The model chooses a place in the picture and reads only a small window around it, one"
            " glimpse after another.",
            "The recurrent attention model, which reads a digit by six glimpses.",
        ),
    ),
)


def taxonomy() -> None:
    """Draw the kinds of attention as cards; each opens the page that shows it."""
    for row in KINDS:
        for kind, place in zip(row, st.columns(2), strict=True):
            with place.container(border=True, height="stretch"):
                st.subheader(kind.title, anchor=False)
                st.write(kind.what)
                st.caption(kind.examples)
                page_link(kind.page, f"Open {kind.page_title}")
