"""Reference and outputs of the open example side by side, with marked differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.table import list_measures
from areaviz.analysis.word_diff import ADDED, MISSING, SAME, Piece, compare_words, find_closest_text
from areaviz.app.texts import escape_markdown
from areaviz.draw.labels import format_three_digits
from areaviz.samples.dataset import Example
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.systems import Systems

COMPARE_WITH_REFERENCE, COMPARE_WITH_NOTHING = "reference", "nothing"
MAX_REFERENCES = 3
# Number of outputs in a row. Further outputs are in the rows below.
OUTPUTS_PER_ROW = 3


@dataclass(frozen=True, slots=True)
class Output:
    """The output of one system for the open example.

    Attributes:
        title: the title of the system, with its number if there are several.
        text: the output.
        problem: the reason for a missing output, "" if there is one.
        scores: the scores of this output as text.
    """

    title: str
    text: str
    problem: str = ""
    scores: str = ""


def draw_text_comparison(
    page: AnalysePage, systems: Systems, place: int, table: pd.DataFrame
) -> None:
    """Draw the source, the references and the outputs of all systems for one example."""
    example, outputs = systems.dataset.examples[place], _list_outputs(place, systems, table)
    if not outputs:
        return
    if example.text:
        st.caption("Source")
        st.markdown(escape_markdown(example.text))
    base = _choose_base(page, example, outputs)
    _draw_references(example)
    width = min(len(outputs), OUTPUTS_PER_ROW)
    for start in range(0, len(outputs), OUTPUTS_PER_ROW):
        for number, column in enumerate(st.columns(width, gap="small"), start):
            if number < len(outputs):
                with column, st.container(border=True, height="stretch"):
                    _draw_output(outputs[number], _find_base_text(base, number, example, outputs))


def _list_outputs(place: int, systems: Systems, table: pd.DataFrame) -> list[Output]:
    found = []
    for number, (title, run) in enumerate(zip(systems.titles, systems.runs, strict=True)):
        row = run.rows.get(place)
        if row is not None:
            scores = _format_scores(table, place, number)
            found.append(Output(title, row.output, row.error, scores))
    return found


def _format_scores(table: pd.DataFrame, place: int, number: int) -> str:
    """Return the scores of one output as text, "" if there are none."""
    found = []
    for name, measure in list_measures(table).items():
        column = f"{name}_{number}"
        if measure.better and column in table and place in table.index:
            value = float(table[column].to_numpy(float)[table.index.get_loc(place)])
            if np.isfinite(value):
                found.append(f"{measure.title} {format_three_digits(value)}")
    return " · ".join(found)


def _choose_base(page: AnalysePage, example: Example, outputs: Sequence[Output]) -> str:
    """Let the user choose what to compare outputs with, and explain the marks."""
    options = {COMPARE_WITH_REFERENCE: "Reference"} if example.references else {}
    if len(outputs) > 1:
        options |= {str(number): one.title for number, one in enumerate(outputs)}
    if not options:
        return COMPARE_WITH_NOTHING
    base = page.choose_segment(
        "Mark differences from", "base", {**options, COMPARE_WITH_NOTHING: "Nothing"}
    )
    if base != COMPARE_WITH_NOTHING:
        what = "the reference" if base == COMPARE_WITH_REFERENCE else outputs[int(base)].title
        st.caption(
            f"{_format_piece(Piece('Bold', ADDED))} words are not in {escape_markdown(what)}."
            f" {_format_piece(Piece('Struck-through', MISSING))} words are there,"
            " but not in the output."
        )
    return base


def _find_base_text(
    base: str, number: int, example: Example, outputs: Sequence[Output]
) -> str | None:
    """Return the text that an output is compared with, or None if there is nothing to compare.

    If there are several references, the closest one is returned.
    """
    if base == COMPARE_WITH_REFERENCE:
        return example.references[find_closest_text(example.references, outputs[number].text)]
    if base == COMPARE_WITH_NOTHING or int(base) == number:
        return None
    return outputs[int(base)].text


def _draw_references(example: Example) -> None:
    several = len(example.references) > 1
    for number, reference in enumerate(example.references[:MAX_REFERENCES], 1):
        st.caption(f"Reference {number}" if several else "Reference")
        st.markdown(escape_markdown(reference))
    more = len(example.references) - MAX_REFERENCES
    if more > 0:
        st.caption(f"and {more} more")
    if several:
        st.caption("Each output is compared with the reference that is closest to it.")


def _draw_output(output: Output, base: str | None) -> None:
    st.markdown(f"**{escape_markdown(output.title)}**")
    if output.problem:
        st.caption(escape_markdown(f"Not run: {output.problem}"))
        return
    pieces = [Piece(output.text, SAME)] if base is None else compare_words(base, output.text)
    st.markdown("".join(map(_format_piece, pieces)) if output.text else "(nothing)")
    if output.scores:
        st.caption(escape_markdown(output.scores))


def _format_piece(piece: Piece) -> str:
    """Return a piece as Markdown: bold on green if added, struck through on red if missing.

    Bold and strike-through distinguish the two without colours.
    """
    drawn = escape_markdown(piece.text)
    if piece.kind == ADDED and drawn:
        drawn = f":green-background[**{drawn}**]"
    elif piece.kind == MISSING and drawn:
        drawn = f":red-background[~~{drawn}~~]"
    return f"{drawn} " if piece.text[-1:].isspace() else drawn
