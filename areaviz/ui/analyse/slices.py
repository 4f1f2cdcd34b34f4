"""Slices: examples with a name or a tag, with metrics of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from areaviz.analysis.table import CIDER
from areaviz.app.run import get_user_digest
from areaviz.app.texts import (
    defer_errors,
    draw_lazy_expander,
    pluralise,
    shorten_line,
    show_deferred,
)
from areaviz.data.metadata import list_categories
from areaviz.draw.labels import escape_controls
from areaviz.notes.slices import Slice
from areaviz.notes.store_schema import LONGEST_SLICE
from areaviz.samples.dataset import Dataset
from areaviz.ui.analyse.filter import format_run_mark
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import StoredRows, compute_figures, open_note_store

# Keys of widgets.
SLICE_NAME_KEY, SLICE_TABLE_KEY = "analyse_slice_name", "slices"
# Session keys: why a slice was not saved, and the number of rows of the table.
PROBLEM_KEY, ROW_COUNT_KEY = "analyse_slice_problem", "slice_rows"
# Largest number of saved slices and of tags, and the number of rows added per click.
MAX_LISTED_SLICES, ROWS_PER_CLICK = 100, 20
WHOLE_SET_TITLE, TAG_PREFIX = "All examples", "Tagged: "
# Titles of the metrics in the table. A slice may lack some of them.
METRIC_TITLES = {
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "confidence": "Confidence",
    "coverage_deviation": "Coverage dev.",
    "pointing": "Points right",
    "area_size": "Area size",
}
Slices = Mapping[str, tuple[int, ...]]


def list_slices(digest: str) -> Slices:
    """Return the slices of a dataset: saved ones first, then one for each tag of notes.

    At most `MAX_LISTED_SLICES` slices of each kind are returned. The user's own slices come
    first, so that slices of other users cannot push them out.
    """
    reader, store = get_user_digest(), open_note_store()
    saved = store.slices.list_for(digest, reader, MAX_LISTED_SLICES)
    tags = store.notes.list_tags(digest, reader, MAX_LISTED_SLICES)
    tagged = store.notes.list_tagged(digest, sorted(tags))
    slices = {one.name: one.examples for one in saved}
    return slices | {f"{TAG_PREFIX}{tag}": places for tag, places in tagged.items()}


def list_value_slices(dataset: Dataset) -> Slices:
    """Return a slice for each value of each metadata column that groups examples.

    At most `MAX_LISTED_SLICES` are returned. A column in which all values differ has no groups.
    """
    found: dict[str, tuple[int, ...]] = {}
    for column, values in dataset.metadata.items():
        groups = list_categories(values)
        if 1 < len(groups) < len(values):
            for group in groups:
                places = tuple(place for place, value in enumerate(values) if value == group)
                found[f"{column}: {group}"] = places
    return dict(list(found.items())[:MAX_LISTED_SLICES])


def draw_slice_filter(page: AnalysePage, table: pd.DataFrame, slices: Slices) -> pd.DataFrame:
    """Draw the choice of a slice if there are any, and return the rows of the chosen one."""
    if not slices:
        return table
    titles = {"": WHOLE_SET_TITLE} | {name: escape_controls(name) for name in slices}
    name = page.choose(st.selectbox, "Slice", "slice", titles, width=260)
    return table[table.index.isin(slices[name])] if name else table


def list_metric_formats(table: pd.DataFrame) -> dict[str, Any]:
    """Return the formats of the metric columns for `st.dataframe`."""
    column = st.column_config.NumberColumn(format="%.3g")
    return {str(name): column for name in table.select_dtypes("float")}


def draw_slice_menu(digest: str, chosen: pd.DataFrame) -> None:
    """Draw a menu that saves the listed examples under a name, and removes slices."""
    show_deferred(PROBLEM_KEY)
    reader = get_user_digest()
    with st.popover("Save as a slice", key="slice_menu"):
        st.text_input("Name", key=SLICE_NAME_KEY, max_chars=LONGEST_SLICE)
        places = tuple(int(place) for place in chosen.index)
        listed = open_note_store().slices.list_for(digest, reader, MAX_LISTED_SLICES)
        own = {one.name: one for one in listed if one.is_changeable(reader)}
        st.button(
            f"Save {pluralise(len(places), 'example')}",
            on_click=_save_slice,
            args=(digest, places, own),
        )
        if own:
            gone = st.selectbox(
                "Remove one of yours",
                list(own),
                index=None,
                placeholder="Choose a slice",
                format_func=escape_controls,
            )
            st.button(
                "Remove the slice",
                disabled=gone is None,
                on_click=_remove_slice,
                args=(own.get(gone or ""),),
            )


def save_examples_as_slice(digest: str, name: str, places: tuple[int, ...]) -> None:
    """Save examples as a slice in a callback. The user's own slice of that name is replaced.

    The name is shortened if it is too long. An error is shown next to the menu of slices.
    """
    with defer_errors("saving the slice", PROBLEM_KEY):
        short, reader = shorten_line(name, LONGEST_SLICE), get_user_digest()
        listed = open_note_store().slices.list_for(digest, reader, MAX_LISTED_SLICES)
        own = {one.name: one.version for one in listed if one.is_changeable(reader)}
        changed = Slice(digest, short, places, own.get(short, 0))
        made = open_note_store().slices.save(changed, reader)
        st.toast(f"Saved {pluralise(len(made.examples), 'example')} as a slice.")


def _save_slice(digest: str, places: tuple[int, ...], own: Mapping[str, Slice]) -> None:
    """Save the examples as a new slice, or replace the user's slice of that name."""
    with defer_errors("saving the slice", PROBLEM_KEY):
        name = (st.session_state.get(SLICE_NAME_KEY) or "").strip()
        version = own[name].version if name in own else 0
        made = open_note_store().slices.save(
            Slice(digest, name, places, version), get_user_digest()
        )
        st.session_state[SLICE_NAME_KEY] = ""
        st.toast(f"Saved {pluralise(len(made.examples), 'example')}.")


def _remove_slice(gone: Slice | None) -> None:
    with defer_errors("removing the slice", PROBLEM_KEY):
        if gone is not None:
            open_note_store().slices.remove(gone, get_user_digest())


def draw_slice_table(runs: Sequence[StoredRows], slices: Slices) -> None:
    """Draw the slices with their metrics for each model, and their notes by tag."""
    if not slices:
        return
    # Compute the table only while the expander is open: each slice takes a fraction of a second.
    # The label is constant, because a new label would close the expander.
    opened = draw_lazy_expander("Slices", SLICE_TABLE_KEY)
    if not opened.open:
        return
    most = st.session_state.get(ROW_COUNT_KEY, ROWS_PER_CLICK)
    rows = [_build_slice_row(WHOLE_SET_TITLE, None, runs)]
    rows += [_build_slice_row(name, slices[name], runs) for name in list(slices)[:most]]
    # The whole dataset is in the first row and has every metric that a slice has.
    shown = pd.DataFrame(rows)
    with opened:
        st.caption(f"{pluralise(len(slices), 'slice')}, below all examples.")
        st.dataframe(shown, hide_index=True, column_config=list_metric_formats(shown))
        if len(slices) > most:
            st.button("Show more slices", on_click=_show_more_rows, args=(most + ROWS_PER_CLICK,))


def _show_more_rows(most: int) -> None:
    st.session_state[ROW_COUNT_KEY] = most


def _build_slice_row(
    name: str, places: tuple[int, ...] | None, runs: Sequence[StoredRows]
) -> Mapping[str, object]:
    """Return one row of the table. `places` is None for all examples."""
    dataset = runs[0].dataset
    count = len(dataset.examples if places is None else places)
    row: dict[str, object] = {"Slice": escape_controls(name), "Examples": count}
    found = [compute_figures(run, places) for run in runs]
    for key, title in METRIC_TITLES.items():
        for run, values in enumerate(found):
            if key in values:
                row[title + format_run_mark(run, len(runs))] = values[key]
    tags = open_note_store().notes.count_tags(dataset.digest, places)
    row["Notes"] = ", ".join(f"{escape_controls(tag)} {count}" for tag, count in tags.items())
    return row
