"""Slices: some examples of a set under a name, or with a tag; their figures beside those of the
whole set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.table import CIDER
from areaviz.notes.slices import LONGEST_NAME
from areaviz.ui.analyse.found import Found, figures
from areaviz.ui.analyse.notes import notebook
from areaviz.ui.shell.errors import defer_errors, show_deferred
from areaviz.ui.shell.markdown import visible
from areaviz.ui.shell.reader import reader_mark

CHOSEN, NAME, PROBLEM = "analyse_slice", "analyse_slice_name", "analyse_slice_problem"
TABLE = "slices"
WHOLE, TAGGED = "All examples", "Tagged: "
FIGURES = {
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "confidence": "Confidence",  # fmt: skip
    "coverage_deviation": "Coverage dev.",
    "pointing": "Points right",
    "area_size": "Area size",
}
"""What is told of a slice, as far as it has it."""


def slices_of(digest: str) -> Mapping[str, tuple[int, ...]]:
    """The examples of every slice of a set, saved ones first, then one for each tag of
    its notes.
    """
    kept = {one.name: one.examples for one in notebook().slices.of(digest)}
    tagged: dict[str, set[int]] = {}
    for note in notebook().notes.of(digest):
        tagged.setdefault(f"{TAGGED}{note.tag}", set()).add(note.example)
    return kept | {name: tuple(sorted(places)) for name, places in sorted(tagged.items())}


def in_slice(table: pd.DataFrame, slices: Mapping[str, tuple[int, ...]]) -> pd.DataFrame:
    """The rows of the slice that is chosen; draws the choice where there are any slices."""
    if not slices:
        return table
    if st.session_state.get(CHOSEN) not in (WHOLE, *slices):
        st.session_state.pop(CHOSEN, None)
    name = st.selectbox("Slice", [WHOLE, *slices], key=CHOSEN, format_func=visible, width=260)
    return table if name == WHOLE else table[table.index.isin(slices[name])]


def save_slice(digest: str, chosen: pd.DataFrame) -> None:
    """A menu that keeps the examples listed now under a name, and forgets names."""
    show_deferred(PROBLEM)
    with st.popover("Save as a slice", disabled=chosen.empty, key="slice_menu"):
        st.text_input("Name", key=NAME, max_chars=LONGEST_NAME)
        places = [int(place) for place in chosen.index]
        st.button(f"Save these {len(places):,} examples", on_click=_save, args=(digest, places))
        names = [one.name for one in notebook().slices.of(digest)]
        if names:
            gone = st.selectbox(
                "Remove", names, index=None, placeholder="Choose a slice", format_func=visible
            )
            st.button(
                "Remove the slice", disabled=gone is None, on_click=_remove, args=(digest, gone)
            )


def slice_table(runs: Sequence[Found], slices: Mapping[str, tuple[int, ...]]) -> None:
    """Every slice with its figures, model against model, and its notes by tag."""
    if not slices:
        return
    # Computed only while it is open: each slice's scores take a part of a second. A label that
    # changed would close it.
    opened = st.expander("Slices", key=TABLE, type="compact", on_change="rerun")
    if not opened.open:
        return
    with opened:
        st.caption(f"{len(slices):,} slice{'s' * (len(slices) > 1)}, beside all examples.")
        rows = [_row(name, places, runs) for name, places in {WHOLE: None, **slices}.items()]
        names = sorted(
            {name for row in rows for name in row} - {"Slice", "Examples", "Notes"}, key=_order
        )
        numbers = {name: st.column_config.NumberColumn(format="%.3g") for name in names}
        shown = pd.DataFrame(rows, columns=["Slice", "Examples", *names, "Notes"])
        st.dataframe(shown, hide_index=True, column_config=numbers)


def _row(name: str, places: tuple[int, ...] | None, runs: Sequence[Found]) -> Mapping[str, object]:
    """One line of the table; places: None for all examples."""
    dataset = runs[0].dataset
    row: dict[str, object] = {
        "Slice": visible(name),
        "Examples": len(dataset.examples if places is None else places),
    }
    for number, run in enumerate(runs, 1):
        found = figures(run, places)
        mark = f" ({number})" if len(runs) > 1 else ""
        row |= {f"{title}{mark}": found[key] for key, title in FIGURES.items() if key in found}
    tags = notebook().notes.counts(dataset.digest, places)
    return {**row, "Notes": ", ".join(f"{visible(tag)} {count}" for tag, count in tags.items())}


def _order(column: str) -> tuple[int, str]:
    return list(FIGURES.values()).index(column.split(" (")[0]), column


def _save(digest: str, places: Sequence[int]) -> None:
    with defer_errors("saving the slice", PROBLEM):
        made = notebook().slices.save(
            digest, st.session_state.get(NAME) or "", places, reader_mark()
        )
        st.session_state[NAME] = ""
        st.toast(f"Saved {len(made.examples):,} examples.")


def _remove(digest: str, name: str) -> None:
    with defer_errors("removing the slice", PROBLEM):
        notebook().slices.remove(digest, name)
