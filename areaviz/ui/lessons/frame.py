"""What every lesson is made of: two columns that stack where it is narrow, a picture, its numbers as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
from plotly.graph_objects import Figure
from streamlit.delta_generator import DeltaGenerator

from areaviz.views.base import Table

STYLE = """<style>
[class*="st-key-lesson-"] [data-testid="stHorizontalBlock"] { flex-wrap: wrap; row-gap: 0.5rem; column-gap: 2rem; }
[class*="st-key-lesson-"] [data-testid="stColumn"] { min-width: min(20rem, 100%); }
[class*="st-key-lesson-"] .katex { font-size: 1.05em; }
[class*="st-key-lesson-"] .katex-display { overflow-x: auto; overflow-y: hidden; margin: 0.35em 0; padding: 0.1em 0; }
</style>"""
_CONFIG = {"displayModeBar": False, "displaylogo": False}


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson. name: its anchor in links; title: for people; show: draws it, a fragment of its own."""

    name: str
    title: str
    show: Callable[[], None]


def columns() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Picture on the left, words on the right; one below the other where the page is narrow."""
    left, right = st.columns([6, 5], gap="medium")
    return left, right


def picture(figure: Figure, key: str, question: str, chosen: Callable[[int], None] | None = None) -> None:
    """Show a figure; `chosen` is told the number of the place that was clicked."""
    name = f"picture-{key}"
    if chosen is None:
        st.plotly_chart(figure, key=name, config=_CONFIG, alt=question)
        return

    def clicked() -> None:
        points = st.session_state[name].selection.points
        if points:
            chosen(int(points[0]["customdata"]))

    st.plotly_chart(figure, key=name, config=_CONFIG, alt=question, on_select=clicked, selection_mode="points")


def as_table(table: Table, key: str) -> None:
    """The numbers of a picture as text, made only when asked for."""
    shown = st.expander("Show as table", key=f"table-{key}", type="compact", on_change="rerun")
    if shown.open:
        with shown:
            st.table({name: [row[column] for row in table.rows] for column, name in enumerate(table.columns)})
