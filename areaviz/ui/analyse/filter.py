"""Which examples of an analysis are looked at: a slice, a search, a brush, and their order.

A slice is some examples of a set under a name, or those with a tag; its figures stand beside those
of the whole set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from areaviz.analysis.table import ALL_MEASURES, CIDER
from areaviz.notes.store_schema import LONGEST_SLICE
from areaviz.ui.analyse.stored import StoredRows, figures, note_store
from areaviz.ui.shell.errors import defer_errors, show_deferred
from areaviz.ui.shell.markdown import visible
from areaviz.ui.shell.reader import reader_mark
from areaviz.views.charts import histogram, scatter

# Keys of widgets.
SEARCH = "analyse_search"
SLICE, SLICE_NAME, SLICE_TABLE = "analyse_slice", "analyse_slice_name", "slices"
# In the session: why a slice was not saved.
PROBLEM = "analyse_slice_problem"
WORST, BEST, AS_GIVEN = "Worst first", "Best first", "As given"
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


def run_mark(run: int, runs: int) -> str:
    """What follows the name of a column of one of several models: " (1)", or nothing for one."""
    return f" ({run + 1})" if runs > 1 else ""


def measure_titles(runs: int) -> dict[str, str]:
    """What the columns of measures are called, by their names in `table_of`."""
    titles = {}
    for name, measure in ALL_MEASURES.items():
        for run in range(runs):
            titles[f"{name}_{run}"] = measure.title + run_mark(run, runs)
        titles[f"{name}_change"] = f"{measure.title}, change"
    return titles


def three_digits(table: pd.DataFrame) -> dict[str, Any]:
    """How the columns of figures are shown, for `st.dataframe`."""
    column = st.column_config.NumberColumn(format="%.3g")
    return {str(name): column for name in table.select_dtypes("float")}


def filtered(table: pd.DataFrame, runs: int) -> pd.DataFrame:
    """Draw search, brush and order; returns the rows they leave, in the chosen order."""
    titles = {name: title for name, title in measure_titles(runs).items() if name in table}
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        wanted = st.text_input("Search in texts and outputs", key=SEARCH, width=220)
        chosen = st.selectbox(
            "Measure",
            list(titles),
            key=f"analyse_measure_{runs}",
            format_func=titles.__getitem__,
            width=220,
        )
        against = st.selectbox(
            "Against",
            [name for name in titles if name != chosen],
            key=f"analyse_against_{runs}",
            index=None,
            placeholder="–",
            format_func=titles.__getitem__,
            width=200,
        )
        orders = [WORST, BEST, AS_GIVEN]
        order = st.segmented_control(
            "Order",
            orders,
            key="analyse_order",
            default=WORST,
            required=True,
        )
    if wanted:
        texts = table.filter(regex="^(name|text|reference|output_)")
        hits = texts.apply(lambda text: text.str.contains(wanted, case=False, regex=False))
        table = table[hits.any(axis=1)]
    if not chosen or table.empty:
        return table
    if against:
        table = _brushed_points(table, chosen, against, titles)
    else:
        table = _brushed_bars(table, chosen, titles[chosen])
    if order == AS_GIVEN:
        return table
    # Of a change, what was lost comes first.
    is_low_good = ALL_MEASURES[chosen.rpartition("_")[0]].better == "low"
    rising = (order != BEST) != is_low_good
    return table.sort_values(
        chosen,
        ascending=rising,
        kind="stable",
        na_position="last",
    )


def _brushed_bars(table: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """How one measure is spread; a drag keeps a part of it."""
    title = f"{name} of {len(table):,} examples"
    values = {name: table[column].to_numpy(np.float32)}
    note = "drag over the bars to keep these examples; double-click to keep all"
    figure = histogram(values, title, note)
    boxes = _selection(figure, title, f"analyse_bars_{column}", ("box",))["box"]
    return table[table[column].between(*sorted(boxes[0]["x"]))] if boxes else table


def _brushed_points(
    table: pd.DataFrame,
    column: str,
    against: str,
    titles: Mapping[str, str],
) -> pd.DataFrame:
    """How two measures go together; a drag keeps a part of the examples."""
    axes = titles[against], titles[column]
    title = f"{titles[column]} against {titles[against]}, {len(table):,} examples"
    x, y = table[against].to_numpy(np.float32), table[column].to_numpy(np.float32)
    figure = scatter(x, y, table["name"].tolist(), axes, title)
    key = f"analyse_points_{column}_{against}"
    points = _selection(figure, title, key, ("box", "lasso"))["points"]
    return table.iloc[sorted(point["customdata"][0] for point in points)] if points else table


def _selection(figure: Any, title: str, key: str, mode: Any) -> Mapping[str, Any]:
    """Draw a figure; returns what was dragged over."""
    event = st.plotly_chart(
        figure,
        key=key,
        on_select="rerun",
        selection_mode=mode,
        config={"displayModeBar": False},
        alt=title,
    )
    selection: Mapping[str, Any] = event["selection"]
    return selection


def slices_of(digest: str) -> Slices:
    """The examples of every slice of a set: saved ones first, then one for each tag of notes."""
    slices = {one.name: one.examples for one in note_store().slices.of(digest)}
    tagged: dict[str, set[int]] = {}
    for note in note_store().notes.of(digest):
        tagged.setdefault(f"{TAGGED}{note.tag}", set()).add(note.example)
    return slices | {name: tuple(sorted(places)) for name, places in sorted(tagged.items())}


def in_slice(table: pd.DataFrame, slices: Slices) -> pd.DataFrame:
    """The rows of the slice that is chosen; draws the choice where there are any slices."""
    if not slices:
        return table
    if st.session_state.get(SLICE) not in (WHOLE, *slices):
        st.session_state.pop(SLICE, None)
    name = st.selectbox(
        "Slice",
        [WHOLE, *slices],
        key=SLICE,
        format_func=visible,
        width=260,
    )
    return table if name == WHOLE else table[table.index.isin(slices[name])]


def save_slice(digest: str, chosen: pd.DataFrame) -> None:
    """Draw a menu that saves the examples listed now under a name, and removes slices."""
    show_deferred(PROBLEM)
    with st.popover("Save as a slice", disabled=chosen.empty, key="slice_menu"):
        st.text_input("Name", key=SLICE_NAME, max_chars=LONGEST_SLICE)
        places = [int(place) for place in chosen.index]
        st.button(f"Save these {len(places):,} examples", on_click=_save, args=(digest, places))
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
        st.toast(f"Saved {len(made.examples):,} examples.")


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
    count = "1 slice" if len(slices) == 1 else f"{len(slices):,} slices"
    rows = [_slice_row(WHOLE, None, runs)]
    rows += [_slice_row(name, places, runs) for name, places in slices.items()]
    # No slice has a figure that the whole set, in the first row, has not.
    shown = pd.DataFrame(rows)
    with opened:
        st.caption(f"{count}, beside all examples.")
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
