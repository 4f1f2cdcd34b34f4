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
    worth,
)
from areaviz.lessons.page_parts import STYLE
from areaviz.ui.shell.frame import page_link, stylesheet


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson of the page.

    Args:
        name: its anchor in links.
        title: as readers see it.
        show: draws it, as a fragment of its own.
        part: of the page, a key of `PARTS`.
    """

    name: str
    title: str
    show: Callable[[], None]
    part: str


PARTS = {
    "idea": "The idea",
    "computed": "How it is computed",
    "other": "Other ways to look",
    "papers": "For implementers",
}
"""The parts of the page, in order: each is a path of its own."""
LESSONS = (
    Lesson("sequence", "Areas of a sequence", sequence.show, "idea"),
    Lesson("grid", "Areas of a grid", grid.show, "idea"),
    Lesson("mean-and-sum", "Key and value of an area", mean_and_sum.show, "idea"),
    Lesson("query-to-output", "From a query to the output", attention.show, "idea"),
    Lesson("features", "A key that knows spread and shape", features.show, "idea"),
    Lesson("boundary", "A key that knows where it begins", boundary.show, "idea"),
    Lesson("cost", "What areas cost", cost.show, "idea"),
    Lesson("worth", "What are areas worth?", worth.show, "idea"),
    Lesson("summed-area-table", "Any sum from four corners", summed_table.show, "computed"),
    Lesson("rounding", "Why this tool grows its areas instead", rounding.show, "computed"),
    Lesson("hard-choice", "Learning a hard choice", hard.show, "other"),
    Lesson("transformed-window", "A window that is a transformation", transformed.show, "other"),
    Lesson("as-printed", "As printed, as implemented", errata.show, "papers"),
)


def numbers_of(part: str) -> list[int]:
    """Return the numbers of the lessons of a part, from 1."""
    return [number for number, lesson in enumerate(LESSONS, start=1) if lesson.part == part]


def contents() -> None:
    """Links to the lessons, part by part."""
    stylesheet(STYLE)
    with st.container(key="lessons"):
        for part, title in PARTS.items():
            links = []
            for number, lesson in enumerate(LESSONS, start=1):
                if lesson.part == part:
                    links.append(f"{number}. [{lesson.title}](#{lesson.name})")
            st.markdown(f"**{title}**\n\n" + "\n".join(links))


def cards() -> None:
    """Every lesson, and behind the last one of the idea the way to a sentence."""
    for number, lesson in enumerate(LESSONS, start=1):
        card(number, lesson)
        is_last = number == len(LESSONS) or LESSONS[number].part != lesson.part
        if is_last and lesson.part == "idea":
            page_link("pages/translate.py", "Try it on a sentence")


def card(number: int, lesson: Lesson) -> None:
    """One lesson in its card."""
    with st.container(border=True, key=f"lesson-{lesson.name}"):
        st.header(f"{number}. {lesson.title}", anchor=lesson.name)
        lesson.show()
