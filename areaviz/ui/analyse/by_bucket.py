"""Scores by bucket: by length, difficulty and word frequency.

If the user clicks a bar or a row, the table of examples shows only the examples of that bucket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from areaviz.analysis.buckets import (
    BUCKETINGS,
    Frequency,
    bucket_by_metadata,
    bucket_by_values,
    bucket_table,
    build_word_table,
    list_bucketings,
)
from areaviz.analysis.table import list_measures, list_metadata_columns
from areaviz.app.texts import draw_lazy_expander
from areaviz.draw.charts import draw_bars
from areaviz.draw.labels import number_text
from areaviz.ui.analyse.brush import draw_filter_table, read_mark_number
from areaviz.ui.analyse.state import AnalysePage, RowFilter, clear_filter, filter_rows
from areaviz.ui.components.rows import Column

# Keys of widgets.
BUCKETS_KEY, TABLE_KEY = "buckets", "analyse_bucket_table"
WORD_FREQUENCY, SORTING_MEASURE = "words", "measure"
CORPUS_SCORES = {"corpus_bleu": "BLEU of the bucket", "corpus_chrf": "chrF of the bucket"}


@dataclass(frozen=True, slots=True)
class Buckets:
    """The content of the chart and table of buckets.

    Args:
        table: one row per bucket, with its name, the indices of its examples and a column per run.
        kind: how examples are sorted into buckets: a key of `BUCKETINGS`, `WORD_FREQUENCY`,
            `SORTING_MEASURE` or the name of a metadata column.
        column: the prefix of the shown columns. The number of the run follows the prefix.
        size_column: the column with the size of each bucket.
        axes: the titles of the x and y axes.
        title: the title of the chart.
    """

    table: pd.DataFrame
    kind: str
    column: str
    size_column: str
    axes: tuple[str, str]
    title: str

    def build_filter(self, number: int) -> RowFilter:
        """Return the examples of the bucket with this number, as a filter."""
        row = self.table.iloc[number]
        title = f"{row['bucket']} ({self.axes[0]})"
        return RowFilter(title, tuple(row["places"]), (f"{BUCKETS_KEY} {self.kind}", number))


def draw_bucket_section(
    page: AnalysePage, table: pd.DataFrame, titles: Sequence[str], corpus: Frequency | None
) -> None:
    """Draw scores and attention for each bucket of examples."""
    if table.empty:
        return
    # Compute scores only while the expander is open, because a thousand examples take a second.
    opened = draw_lazy_expander("Scores by length and frequency", BUCKETS_KEY)
    if not opened.open:
        return
    with opened:
        draw_buckets(page, table, titles, corpus)


def draw_buckets(
    page: AnalysePage, table: pd.DataFrame, titles: Sequence[str], corpus: Frequency | None
) -> None:
    """Draw the choice of buckets, and their scores as bars and as a table."""
    shown = _choose_buckets(page, table, len(titles), corpus)
    _draw_chart(page, shown, titles)
    _draw_table(page, shown, titles)


def _choose_buckets(
    page: AnalysePage, table: pd.DataFrame, runs: int, corpus: Frequency | None
) -> Buckets:
    """Let the user choose buckets and a metric, and compute the buckets."""
    kinds = {name: how.title for name, how in BUCKETINGS.items()}
    if "chrf_0" not in table:
        del kinds["score"]
    has_references = bool((table["reference"] != "").any())
    names = dict(CORPUS_SCORES) if has_references else {}
    if has_references:
        kinds[WORD_FREQUENCY] = "Frequency of words"
    measures = list_measures(table)
    names |= {name: f"{measure.title}, mean" for name, measure in measures.items()}
    # Offer buckets by the values of the metric that sorts the table, such as a score from a file.
    own, column = None, page.state.measure
    if column in table:
        run = column.rpartition("_")[2]
        mark = "change" if run == "change" else f"({int(run) + 1})" if runs > 1 else ""
        title = f"{measures[column.rpartition('_')[0]].title} {mark}".strip()
        own = bucket_by_values(table, column, title)
        if own:
            kinds[SORTING_MEASURE] = title
    ways = dict(list_bucketings(corpus))
    for name, title in list_metadata_columns(table).items():
        if by := bucket_by_metadata(table, name, title):
            ways[name], kinds[name] = by, title
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind = page.choose_segment("Sort by", "bucket", kinds)
        if kind == WORD_FREQUENCY:
            who = "references have" if corpus is None else "the corpus has"
            return Buckets(
                build_word_table(table, runs, corpus),
                kind,
                "f1",
                WORD_FREQUENCY,
                (f"how often {who} the word", "F-measure"),
                "F-measure of words, by the frequency of the words",
            )
        shown = page.choose(st.selectbox, "Show", "bucket_shown", names, width=260)
    is_corpus = shown in CORPUS_SCORES
    how = own if own and kind == SORTING_MEASURE else ways[kind]
    found = bucket_table(table, how, "length" if is_corpus else shown, runs)
    title = f"{names[shown]} by {how.caption}"
    axes = how.about, names[shown]
    return Buckets(found, kind, shown if is_corpus else "mean", "examples", axes, title)


def _draw_chart(page: AnalysePage, shown: Buckets, titles: Sequence[str]) -> None:
    """Draw the bars. A click on a bar filters the examples."""
    key = f"analyse_bucket_bars_{shown.kind}_{page.state.filter_clears}"

    def click() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points:
            filter_rows(page, shown.build_filter(read_mark_number(points[0]["customdata"])))
        else:
            clear_filter(page)

    values = {
        name: list(shown.table[column]) for column, name in _list_run_columns(shown, titles).items()
    }
    st.plotly_chart(
        draw_bars(list(shown.table["bucket"]), values, shown.axes, shown.title),
        key=key,
        on_select=click,
        selection_mode="points",
        config={"displayModeBar": False},
        alt=shown.title,
    )


def _draw_table(page: AnalysePage, shown: Buckets, titles: Sequence[str]) -> None:
    """Draw the numbers as a table. A click on a row filters the examples."""
    columns = [Column("Bucket"), Column(shown.size_column.capitalize(), is_number=True)]
    cells = [
        list(shown.table["bucket"]),
        [f"{count:,}" for count in shown.table[shown.size_column]],
    ]
    for name, title in _list_run_columns(shown, titles).items():
        columns.append(Column(title, is_number=True))
        cells.append([number_text(value, ".3g") for value in shown.table[name]])
    st.caption("Click a bar or a row to see only its examples in the table of examples.")
    draw_filter_table(
        page, shown.title, columns, list(zip(*cells, strict=True)), shown.build_filter, TABLE_KEY
    )


def _list_run_columns(shown: Buckets, titles: Sequence[str]) -> Mapping[str, str]:
    """Return the columns of the runs with their titles."""
    return {f"{shown.column}_{run}": title for run, title in enumerate(titles)}
