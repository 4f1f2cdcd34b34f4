"""What every lesson is made of: two columns that stack where it is narrow, a picture, its numbers
as text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.drawing.base import Table
from areaviz.lessons.board import Picture

# Text in pictures takes the page's colour unless it stands on a lit cell; coloured formulas are
# darkened on a light page and lightened on a dark one until they can be read.
STYLE = """
[class*="st-key-lesson-"] [data-testid="stHorizontalBlock"] { flex-wrap: wrap; row-gap: 0.25rem; column-gap: 2rem; }
[class*="st-key-lesson-"] [data-testid="stColumn"] { min-width: min(20rem, 100%); }
[class*="st-key-controls-"] [data-testid="stColumn"] { min-width: 8rem; }
[class*="st-key-lesson-"] .katex-display {
  margin: 0.2em 0 0.6em; padding: 0.1em 0; overflow: visible !important; }
@media (max-width: 640px) { [class*="st-key-lesson-"] .katex-display { overflow: auto hidden !important; } }
[class*="st-key-lesson-"] .main-svg text:not([style*="fill: rgb(26, 26, 26)"], [style*="fill: rgb(255, 255, 255)"]) {
  fill: currentColor !important; }
.katex [style*="color: rgb(0, 114, 178)"] { color: light-dark(#00639B, #63BDF0) !important; }
.katex [style*="color: rgb(0, 158, 115)"] { color: light-dark(#007353, #3CC79C) !important; }
.katex [style*="color: rgb(213, 94, 0)"] { color: light-dark(#B04E00, #FF9248) !important; }
.katex [style*="color: rgb(204, 121, 167)"] { color: light-dark(#A2477A, #E5A5C8) !important; }
.st-key-lessons ol { columns: 3 15rem; }
.st-key-lessons li { margin-top: 0; break-inside: avoid; }
"""
_CONFIG = {"displayModeBar": False, "displaylogo": False}


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson. name: its anchor in links; title: for people; show: draws it, a fragment of its
    own.
    """

    name: str
    title: str
    show: Callable[[], None]


def columns() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Picture on the left, words on the right; one below the other where the page is narrow."""
    left, right = st.columns([6, 5], gap="medium")
    return left, right


def controls(key: str, count: int, align: Literal["top", "bottom"] = "top") -> list[DeltaGenerator]:
    """A row of columns for sliders and choices, which may stand closer than pictures and words."""
    with st.container(key=f"controls-{key}"):
        return list(st.columns(count, gap="medium", vertical_alignment=align))


def picture(
    figure: Picture, key: str, question: str, chosen: Callable[[int], None] | None = None
) -> None:
    """Show a figure; `chosen` is told the number of the place that was clicked."""
    name = f"picture-{key}"
    if chosen is None:
        st.plotly_chart(figure, key=name, config=_CONFIG, alt=question)
        return

    def clicked() -> None:
        points = st.session_state[name].selection.points
        if points:
            chosen(int(points[0]["customdata"]))

    st.plotly_chart(
        figure, key=name, config=_CONFIG, alt=question, on_select=clicked, selection_mode="points"
    )


def as_table(table: Table, key: str) -> None:
    """The numbers of a picture as text, made only when asked for."""
    shown = st.expander("Show as table", key=f"table-{key}", type="compact", on_change="rerun")
    if shown.open:
        with shown:
            st.table(
                {
                    name: [row[column] for row in table.rows]
                    for column, name in enumerate(table.columns)
                }
            )
