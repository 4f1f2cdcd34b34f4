"""The table of examples, and the open example with its texts, notes and attention."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from areaviz.analysis.table import format_table_as_csv, list_metadata_columns
from areaviz.app.result import draw_results
from areaviz.app.run import run_requests
from areaviz.app.texts import escape_markdown, pluralise, show_errors
from areaviz.backend.backend import Backend
from areaviz.draw.labels import escape_controls, number_text
from areaviz.samples.dataset import Example
from areaviz.ui.analyse.blind import has_rated_all
from areaviz.ui.analyse.error_marking import draw_error_marking
from areaviz.ui.analyse.filter import (
    format_run_mark,
    get_sort_direction,
    list_measure_titles,
    sort_by,
)
from areaviz.ui.analyse.link_access import draw_download_button, get_valid_link
from areaviz.ui.analyse.notes import draw_notes
from areaviz.ui.analyse.output_comparison import draw_text_comparison
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import list_judgements
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.components.rows import (
    Column,
    TableContent,
    draw_rows,
    get_clicked_header,
    get_clicked_row,
)

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
