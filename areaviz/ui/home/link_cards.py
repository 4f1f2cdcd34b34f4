"""Home's three cards with links: the lessons, the analysis of a dataset, and your own models."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from areaviz.texts.catalogue import message
from areaviz.ui.app.frame import draw_page_link
from areaviz.ui.app.language import sentence


@dataclass(frozen=True, slots=True)
class LinkCard:
    """A card that leads to pages. `links` has their paths and labels."""

    title: str
    what: str
    links: tuple[tuple[str, str], ...]


LINK_CARDS: tuple[LinkCard, ...] = (
    LinkCard(
        message("Learn how areas work"),
        message("Change one thing and watch the attention follow."),
        (("pages/how_areas_work.py", message("Start the lessons")),),
    ),
    LinkCard(
        message("Compare two models"),
        message("Run both on a dataset and read the sentences where they differ most."),
        (
            ("pages/analyse.py", message("Analyse a dataset")),
            ("pages/models.py", message("All models")),
        ),
    ),
    LinkCard(
        message("Bring your own model"),
        message("Save its attention weights with one line of Python and open the file here."),
        (("pages/your_tensors.py", message("Open your own attention")),),
    ),
)


def draw_link_cards() -> None:
    """Draw the cards in one row."""
    with st.container(key="doors"):
        for card, place in zip(LINK_CARDS, st.columns(len(LINK_CARDS)), strict=True):
            with place.container(border=True, height="stretch", gap="xsmall"):
                st.subheader(sentence(card.title), anchor=False)
                st.markdown(sentence(card.what))
                with st.container(horizontal=True):
                    for path, label in card.links:
                        draw_page_link(path, sentence(label))
