"""Home's three doors: to the lessons, to the analysis of a dataset, and to models of your own."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from areaviz.ui.shell.frame import page_link


@dataclass(frozen=True, slots=True)
class Door:
    """A card that leads to pages.

    Args:
        title: its title.
        what: what the user can do there, in one or two sentences.
        links: the paths of the pages, with the labels of their links.
    """

    title: str
    what: str
    links: tuple[tuple[str, str], ...]


DOORS: tuple[Door, ...] = (
    Door(
        "Learn how areas work",
        "Change one thing and watch the attention follow.",
        (("pages/how_areas_work.py", "Start the lessons"),),
    ),
    Door(
        "Compare two models",
        "Run both on a dataset and read the sentences where they differ most.",
        (("pages/analyse.py", "Analyse a dataset"), ("pages/models.py", "All models")),
    ),
    Door(
        "Bring your own model",
        "Save its attention weights with one line of Python and open the file here.",
        (("pages/your_tensors.py", "Open your own attention"),),
    ),
)


def doors() -> None:
    """Draw the doors in one row."""
    with st.container(key="doors"):
        for door, place in zip(DOORS, st.columns(len(DOORS)), strict=True):
            with place.container(border=True, height="stretch", gap="xsmall"):
                st.subheader(door.title, anchor=False)
                st.markdown(door.what)
                with st.container(horizontal=True):
                    for path, label in door.links:
                        page_link(path, label)
