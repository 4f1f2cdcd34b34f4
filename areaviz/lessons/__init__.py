"""The lessons of the teaching page "How areas work": one file a lesson, and one line here.

The page itself is `pages/how_areas_work.py`. A lesson's file has its page, its numbers and its
pictures; `show` draws it. Lessons share `arithmetic`, `pictures` and `page_parts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from areaviz.lessons import (
    attention,
    boundary,
    cost,
    errata,
    features,
    grid,
    hard,
    mean_and_sum,
    rounding,
    sequence,
    summed_table,
    transformed,
)
from areaviz.lessons.page_parts import STYLE
from areaviz.ui.shell.frame import stylesheet


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson of the page.

    Args:
        name: its anchor in links.
        title: as readers see it.
        show: draws it, as a fragment of its own.
    """

    name: str
    title: str
    show: Callable[[], None]


LESSONS = (
    Lesson("sequence", "Areas of a sequence", sequence.show),
    Lesson("grid", "Areas of a grid", grid.show),
    Lesson("mean-and-sum", "Key and value of an area", mean_and_sum.show),
    Lesson("summed-area-table", "Any sum from four corners", summed_table.show),
    Lesson("rounding", "Why this tool grows its areas instead", rounding.show),
    Lesson("query-to-output", "From a query to the output", attention.show),
    Lesson("features", "A key that knows spread and shape", features.show),
    Lesson("boundary", "A key that knows where it begins", boundary.show),
    Lesson("cost", "What areas cost", cost.show),
    Lesson("hard-choice", "Learning a hard choice", hard.show),
    Lesson("transformed-window", "A window that is a transformation", transformed.show),
    Lesson("as-printed", "As printed, as implemented", errata.show),
)


def contents() -> None:
    """Links to the lessons."""
    stylesheet(STYLE)
    links = []
    for number, lesson in enumerate(LESSONS, start=1):
        links.append(f"{number}. [{lesson.title}](#{lesson.name})")
    with st.container(key="lessons"):
        st.markdown("\n".join(links))


def card(number: int, lesson: Lesson) -> None:
    """One lesson in its card."""
    with st.container(border=True, key=f"lesson-{lesson.name}"):
        st.header(f"{number}. {lesson.title}", anchor=lesson.name)
        lesson.show()
