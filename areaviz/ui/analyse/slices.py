"""Slices: some examples of a set under a name, or those with a tag, with figures of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from areaviz.analysis.table import CIDER
from areaviz.notes.store_schema import LONGEST_SLICE
from areaviz.ui.analyse.filter import run_mark
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored import StoredRows, figures, note_store
from areaviz.ui.shell.errors import defer_errors, show_deferred
from areaviz.ui.shell.markdown import counted, visible
from areaviz.ui.shell.reader import reader_mark

# Keys of widgets.
SLICE_NAME, SLICE_TABLE = "analyse_slice_name", "slices"
# In the session: why a slice was not saved.
PROBLEM = "analyse_slice_problem"
WHOLE, TAGGED = "All examples", "Tagged: "
# What is shown of a slice, as far as it has it.
FIGURES = {
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "confidence": "Confidence",
    "coverage_deviation": "Coverage dev.",
    "pointing": "Points right",
    "area_size": "Area size",
}
Slices = Mapping[str, tuple[int, ...]]


def slices_of(digest: str) -> Slices:
    """The examples of every slice of a set: saved ones first, then one for each tag of notes."""
    slices = {one.name: one.examples for one in note_store().slices.of(digest)}
    tagged: dict[str, set[int]] = {}
    for note in note_store().notes.of(digest):
        tagged.setdefault(f"{TAGGED}{note.tag}", set()).add(note.example)
    return slices | {name: tuple(sorted(places)) for name, places in sorted(tagged.items())}


def in_slice(page: AnalysePage, table: pd.DataFrame, slices: Slices) -> pd.DataFrame:
    """The rows of the slice that is chosen; draws the choice where there are any slices."""
    if not slices:
        return table
    titles = {"": WHOLE} | {name: visible(name) for name in slices}
    name = page.choose(st.selectbox, "Slice", "slice", titles, width=260)
    return table[table.index.isin(slices[name])] if name else table


def three_digits(table: pd.DataFrame) -> dict[str, Any]:
    """How the columns of figures are shown, for `st.dataframe`."""
    column = st.column_config.NumberColumn(format="%.3g")
    return {str(name): column for name in table.select_dtypes("float")}


def save_slice(digest: str, chosen: pd.DataFrame) -> None:
    """Draw a menu that saves the examples listed now under a name, and removes slices."""
    show_deferred(PROBLEM)
    with st.popover("Save as a slice", key="slice_menu"):
        st.text_input("Name", key=SLICE_NAME, max_chars=LONGEST_SLICE)
        places = [int(place) for place in chosen.index]
        st.button(f"Save {counted(len(places), 'example')}", on_click=_save, args=(digest, places))
        names = [one.name for one in note_store().slices.of(digest)]
        if names:
            gone = st.selectbox(
                "Remove",
                names,
                index=None,
                placeholder="Choose a slice",
                format_func=visible,
            )
            is_off = gone is None
            st.button(
                "Remove the slice",
                disabled=is_off,
                on_click=_remove,
                args=(digest, gone),
            )


def _save(digest: str, places: Sequence[int]) -> None:
    with defer_errors("saving the slice", PROBLEM):
        name = st.session_state.get(SLICE_NAME) or ""
        made = note_store().slices.save(digest, name, places, reader_mark())
        st.session_state[SLICE_NAME] = ""
        st.toast(f"Saved {counted(len(made.examples), 'example')}.")


def _remove(digest: str, name: str) -> None:
    with defer_errors("removing the slice", PROBLEM):
        note_store().slices.remove(digest, name)


def slice_table(runs: Sequence[StoredRows], slices: Slices) -> None:
    """Draw every slice with its figures, model against model, and its notes by tag."""
    if not slices:
        return
    # Computed only while it is open: each slice's scores take a part of a second. A label that
    # changed would close it.
    opened = st.expander(
        "Slices",
        key=SLICE_TABLE,
        type="compact",
        on_change="rerun",
    )
    if not opened.open:
        return
    rows = [_slice_row(WHOLE, None, runs)]
    rows += [_slice_row(name, places, runs) for name, places in slices.items()]
    # No slice has a figure that the whole set, in the first row, has not.
    shown = pd.DataFrame(rows)
    with opened:
        st.caption(f"{counted(len(slices), 'slice')}, beside all examples.")
        st.dataframe(shown, hide_index=True, column_config=three_digits(shown))


def _slice_row(
    name: str, places: tuple[int, ...] | None, runs: Sequence[StoredRows]
) -> Mapping[str, object]:
    """One line of the table; `places` is None for all examples."""
    dataset = runs[0].dataset
    count = len(dataset.examples if places is None else places)
    row: dict[str, object] = {"Slice": visible(name), "Examples": count}
    found = [figures(run, places) for run in runs]
    for key, title in FIGURES.items():
        for run, values in enumerate(found):
            if key in values:
                row[title + run_mark(run, len(runs))] = values[key]
    tags = note_store().notes.counts(dataset.digest, places)
    row["Notes"] = ", ".join(f"{visible(tag)} {count}" for tag, count in tags.items())
    return row
