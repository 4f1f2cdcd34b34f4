"""The table of examples, and the open example with its outputs compared word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.app.result import draw_results
from areaviz.app.run import run_requests
from areaviz.app.texts import escape_markdown, pluralise, show_errors
from areaviz.backend.backend import Backend
from areaviz.draw.labels import escape_controls, format_three_digits, number_text
from areaviz.samples.dataset import Example
from areaviz.sets.app.error_marking import draw_error_marking, has_rated_all
from areaviz.sets.app.filter import (
    Column,
    TableContent,
    draw_rows,
    format_run_mark,
    get_clicked_header,
    get_clicked_row,
    get_sort_direction,
    list_measure_titles,
    sort_by,
)
from areaviz.sets.app.notes import draw_notes
from areaviz.sets.app.state import (
    AnalysePage,
    Systems,
    draw_download_button,
    get_valid_link,
    list_judgements,
)
from areaviz.sets.table import format_table_as_csv, list_measures, list_metadata_columns

# Word differences between two texts: equal, added and missing words.


SAME, ADDED, MISSING = "same", "added", "missing"
# Chinese and Japanese characters count as words, because spaces do not separate their words.
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
# Maximum number of compared words, because the time grows with the square of the length.
MAX_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, with the white space that follows it.

    Attributes:
        text: the part as written in the text, or in the base text if it is missing.
        kind: SAME, ADDED or MISSING, seen from the text.
    """

    text: str
    kind: str


def compare_words(base: str, text: str) -> list[Piece]:
    """Split a text into pieces: words of both texts, added words, and missing words.

    The pieces that are not missing form the text. The pieces that were not added form the base
    text, apart from white space. A text of more than `MAX_TOKENS` words is returned as one piece.

    Args:
        base: the text to compare with.
        text: the text to mark.
    """
    base_tokens, text_tokens = _split_tokens(base), _split_tokens(text)
    if max(len(base_tokens), len(text_tokens)) > MAX_TOKENS:
        return [Piece(text, SAME)]
    pieces = []
    for kind, start, end, from_, to in _make_matcher(base_tokens, text_tokens).get_opcodes():
        if kind in ("delete", "replace"):
            pieces.append(Piece("".join(base_tokens[start:end]), MISSING))
        if kind != "delete":
            found = "".join(text_tokens[from_:to])
            pieces.append(Piece(found, SAME if kind == "equal" else ADDED))
    return pieces


def find_closest_text(texts: Sequence[str], text: str) -> int:
    """Return the index of the candidate that shares most words with a text.

    Of equals, the first one.

    Args:
        texts: the candidates, at least one.
        text: the text to compare them with.
    """
    words = _split_tokens(text)
    likeness = []
    for one in texts:
        tokens = _split_tokens(one)
        is_long = max(len(tokens), len(words)) > MAX_TOKENS
        likeness.append(0.0 if is_long else _make_matcher(tokens, words).ratio())
    return likeness.index(max(likeness))


def _split_tokens(text: str) -> list[str]:
    """Return words and punctuation marks, each with the white space that follows it."""
    starts = [found.start() for found in _TOKEN.finditer(text)]
    ends = [*starts, len(text)][1:]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _make_matcher(base: Sequence[str], text: Sequence[str]) -> SequenceMatcher[str]:
    """Return a matcher that compares tokens without the white space that follows them."""
    first, second = ([one.strip() for one in tokens] for tokens in (base, text))
    return SequenceMatcher(None, first, second, autojunk=False)


# Reference and outputs of the open example side by side, with marked differences.


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


# The table of examples, and the open example with its texts, notes and attention.


# Keys of the table, and of the container of the open example, to which a click scrolls.
TABLE_KEY, OPEN_EXAMPLE_KEY = "analyse_table", "analyse_example"
# Number of rows sent at once.
ROWS_PER_PAGE = 200


def draw_examples_table(
    page: AnalysePage, table: pd.DataFrame, runs: int, where: str = "below"
) -> None:
    """Draw the table of examples: texts, outputs, then metrics. A click opens an example.

    The metric that orders the table is next to the names.

    Args:
        page: its state has the order and the open example.
        table: the listed examples.
        runs: the number of systems.
        where: where the page shows the open example, "below" or "above" the table.
    """
    if table.empty:
        st.caption("Nothing found. Change the search, or show all again.")
        return
    first = page.state.first_row if page.state.first_row < len(table) else 0
    part = table.iloc[first : first + ROWS_PER_PAGE]
    st.caption(f"{pluralise(len(table), 'example')}. Click a row to open it {where}.")
    titles = _list_columns(page, table, runs)
    measures = list_measure_titles(table, runs)
    columns, cells = [], []
    for name, title in titles.items():
        is_number = name in measures or part[name].dtype.kind == "f"
        columns.append(Column(title, name if name in measures else "", is_number))
        values = part[name]
        shown = [number_text(value, ".3g") for value in values] if is_number else list(values)
        cells.append(shown)
    order = get_sort_direction(page, table)
    content = TableContent(
        columns,
        list(zip(*cells, strict=True)),
        [int(place) for place in part.index],
        page.state.example,
        None if order is None else (page.state.measure, order),
    )
    draw_rows(
        "Examples",
        content,
        key=TABLE_KEY,
        on_open=lambda: page.set(example=get_clicked_row(TABLE_KEY)),
        on_sort=lambda: sort_by(page, get_clicked_header(TABLE_KEY) or ""),
        target=OPEN_EXAMPLE_KEY,
    )
    if len(table) > ROWS_PER_PAGE:
        _turn_pages(page, first, len(table))


def _list_columns(page: AnalysePage, table: pd.DataFrame, runs: int) -> dict[str, str]:
    """Return the columns of the table with their titles, without empty columns."""
    measures = list_measure_titles(table, runs)
    titles = {"name": "Example"}
    if page.state.measure in measures:
        titles[page.state.measure] = measures[page.state.measure]
    titles["text"] = "Source"
    for run in range(runs):
        # Skip outputs that repeat the text, which has its own column.
        if not (table[f"output_{run}"] == table["text"]).all():
            titles[f"output_{run}"] = f"Output{format_run_mark(run, runs)}"
        titles[f"error_{run}"] = f"Not run{format_run_mark(run, runs)}"
    titles |= {"reference": "Reference"}
    titles |= {name: escape_controls(title) for name, title in list_metadata_columns(table).items()}
    titles |= {name: title for name, title in measures.items() if name not in titles}
    return {name: title for name, title in titles.items() if _has_cell_values(table, name)}


def _has_cell_values(table: pd.DataFrame, name: str) -> bool:
    return name in table and not (table[name].isna() | (table[name] == "")).all()


def _turn_pages(page: AnalysePage, first: int, count: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for label, there in (
            ("Earlier rows", first - ROWS_PER_PAGE),
            ("Later rows", first + ROWS_PER_PAGE),
        ):
            is_there = 0 <= there < count
            st.button(label, disabled=not is_there, on_click=page.set, kwargs={"first_row": there})
        last = min(first + ROWS_PER_PAGE, count)
        st.caption(f"Rows {first + 1:,} to {last:,} of {count:,}", width="content")


def draw_table_download(page: AnalysePage, table: pd.DataFrame, runs: int) -> None:
    """Draw a button that downloads the listed examples with texts, outputs and metrics."""
    pair = (page.state.first, page.state.second) if runs > 2 else None
    make = partial(format_table_as_csv, table, pair)
    draw_download_button("Table as CSV", make, "areaviz-analysis.csv", "text/csv", "analyse_csv")


def draw_open_example(
    page: AnalysePage,
    backend: Backend,
    systems: Systems,
    listed: Sequence[int],
    table: pd.DataFrame,
) -> None:
    """Draw the open example, if there is one, with buttons to its neighbours in the table."""
    dataset, place = systems.dataset, page.state.example
    if place is None or place >= len(dataset.examples):
        return
    example = dataset.examples[place]
    with st.container(key=OPEN_EXAMPLE_KEY):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.subheader(f"Example {escape_markdown(example.name)}", anchor=False, width="content")
            _draw_neighbour_buttons(page, listed)
            st.button("Close", on_click=page.set, kwargs={"example": None}, type="tertiary")
        if example.references or len(systems) > 1 or systems.analyses[0].request is None:
            draw_text_comparison(page, systems, place, table)
        if page.state.is_blind:
            _draw_rater_parts(page, systems, place)
            return
        with show_errors("reading the notes"):
            draw_notes(systems, place)
        with show_errors("reading the errors"):
            draw_error_marking(page, systems, place)
        if systems.has_models:
            _draw_attention(page, backend, systems, example)


def _draw_rater_parts(page: AnalysePage, systems: Systems, place: int) -> None:
    """Draw the errors of an example in blind rating, and its notes once all outputs are rated.

    Attention is left out, because it would show which system is which model.
    """
    with show_errors("reading the errors"):
        draw_error_marking(page, systems, place)
        if has_rated_all(list_judgements(systems.dataset.digest), place, systems.names):
            with show_errors("reading the notes"):
                draw_notes(systems, place)
        else:
            st.caption("Notes on this example appear after you have rated all of its outputs.")


def _draw_attention(
    page: AnalysePage, backend: Backend, systems: Systems, example: Example
) -> None:
    """Draw the models' attention in the viewer of traces."""
    titles, requests = [], []
    for one in systems.analyses:
        if one.request:
            titles.append(one.title)
            requests.append(systems.dataset.asked(one.request, example))
    traces = run_requests(backend, requests, "Running the example")
    draw_results(page, traces, titles, check=get_valid_link)


def _draw_neighbour_buttons(page: AnalysePage, listed: Sequence[int]) -> None:
    """Draw buttons for the previous and the next example of the table, if listed there."""
    before, after = page.state.find_neighbours(listed)
    for label, key, there in (("Previous", "K", before), ("Next", "J", after)):
        st.button(
            label,
            shortcut=key,
            disabled=there is None,
            on_click=_draw_opened_example,
            args=(page, there, listed),
        )
    if page.state.example in listed:
        at = listed.index(page.state.example)
        st.caption(f"{at + 1:,} of {len(listed):,}", width="content")


def _draw_opened_example(page: AnalysePage, place: int, listed: Sequence[int]) -> None:
    at = listed.index(place)
    page.set(example=place, first_row=at - at % ROWS_PER_PAGE)
