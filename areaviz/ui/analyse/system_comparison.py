"""Comparison of two systems: wins, a test for chance differences, and telling words."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.model_comparison import (
    Gram,
    compare_corpus_scores,
    count_wins,
    find_distinguishing_ngrams,
    mean_change,
)
from areaviz.analysis.table import list_measures, with_changes
from areaviz.app.texts import draw_lazy_expander, draw_text_table, escape_markdown
from areaviz.draw.labels import escape_controls, number_text
from areaviz.ui.analyse.brush import draw_filter_table
from areaviz.ui.analyse.state import AnalysePage, RowFilter
from areaviz.ui.components.rows import Column

# Keys of widgets.
COMPARISON_KEY, WORDS_KEY = "against", "analyse_words"
# Session key: the last test of the whole dataset, with the outputs that it compared.
TESTED_OUTPUTS_KEY = "analyse_test"
NGRAM_SIZES = {1: "1", 2: "2", 3: "3", 4: "4"}


def choose_pair(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """Let the user choose two of several systems. Return the table with their changes."""
    if len(titles) < 3:
        page.set(first=0, second=1)
        return table
    names = {number: escape_controls(title) for number, title in enumerate(titles)}
    with st.container(horizontal=True, gap="medium"):
        second = page.choose(st.selectbox, "Compare", "second", names, width=260)
        others = {number: name for number, name in names.items() if number != second}
        first = page.choose(st.selectbox, "With", "first", others, width=260)
    st.caption("Changes, wins and losses are those of the first of these against the second.")
    return with_changes(table, first, second)


def _list_pair_marks(page: AnalysePage) -> tuple[str, str]:
    """Return the marks of the two compared systems, such as "(1)" and "(3)"."""
    return f"({page.state.first + 1})", f"({page.state.second + 1})"


def draw_system_comparison(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw how often each of two systems wins, whether this may be chance, and telling words."""
    if len(titles) < 2 or table.empty:
        return
    which = "two" if len(titles) == 2 else "two chosen"
    opened = draw_lazy_expander(f"Compare the {which} systems", COMPARISON_KEY)
    if not opened.open:
        return
    with opened:
        draw_wins_and_words(page, table, titles)


def draw_wins_and_words(page: AnalysePage, table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw wins and mean changes of two systems, and words that one matches more often."""
    pair = page.state.first, page.state.second
    names = [escape_markdown(titles[number]) for number in pair]
    st.caption(
        f"Wins are examples in which {names[1]} is better than {names[0]}. The interval holds"
        " the mean change of 95 % of 1,000 sets drawn anew from these examples (bootstrap,"
        " seed 1). If it does not contain 0, the change is hardly chance."
    )
    draw_text_table(_build_change_table(table))
    if bool((table["reference"] != "").any()):
        st.button("Test BLEU and chrF of the whole set", on_click=_draw_test, args=(table, pair))
        _run_test(table, pair)
        _draw_words(page, table)


def _build_change_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return wins and mean changes, one row per metric."""
    rows = []
    for name, measure in list_measures(table).items():
        change = table[f"{name}_change"].to_numpy(float)
        counts = [f"{count:,}" for count in count_wins(change, measure.better)]
        if not measure.better:
            counts[0] = counts[2] = "–"
        mean, low, high = (number_text(value, "+.3g") for value in mean_change(change))
        rows.append((measure.title, *counts, mean, f"{low} to {high}"))
    heads = ["Measure", "Wins", "Ties", "Losses", "Mean change", "95 % interval"]
    return pd.DataFrame(rows, columns=heads)


def _draw_test(table: pd.DataFrame, pair: tuple[int, int]) -> None:
    with st.spinner("Drawing 1,000 sets"):
        st.session_state[TESTED_OUTPUTS_KEY] = (
            _make_outputs_key(table, pair),
            compare_corpus_scores(table, pair),
        )


def _run_test(table: pd.DataFrame, pair: tuple[int, int]) -> None:
    mark, found = st.session_state.get(TESTED_OUTPUTS_KEY, (None, {}))
    if mark != _make_outputs_key(table, pair):
        return
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        one = found[name]
        st.caption(
            f"{title}: {one.baseline:.2f} and {one.system:.2f}, a difference of"
            f" {one.difference:+.2f}. If the models were equally good, a difference as large in"
            f" either direction would have probability {one.p_value:.3f} (two-sided approximate"
            " randomisation by sacrebleu, 1,000 draws)."
        )


def _make_outputs_key(table: pd.DataFrame, pair: tuple[int, int]) -> int:
    """Return a key that identifies these outputs."""
    first, second = (tuple(table[f"output_{run}"]) for run in pair)
    return hash((tuple(table.index), first, second))


def _draw_words(page: AnalysePage, table: pd.DataFrame) -> None:
    """Draw the words that one system matches more often. A click filters the examples."""
    size = page.choose_segment("Words in a row", "gram", NGRAM_SIZES)
    sides = find_distinguishing_ngrams(table, size, (page.state.first, page.state.second))
    marks = _list_pair_marks(page)
    for side, (column, found) in enumerate(zip(st.columns(2, gap="medium"), sides, strict=True)):
        with column:
            right, wrong = marks if side == 0 else marks[::-1]
            st.caption(f"Words that {right} gets right more often than {wrong}")
            if found:
                _draw_word_table(page, found, side, size)
            else:
                st.caption("none")


def _draw_word_table(page: AnalysePage, found: Sequence[Gram], side: int, size: int) -> None:
    """Draw a table of words. A click on a row filters the examples."""
    marks = _list_pair_marks(page)
    columns = [Column("Words")]
    columns += [Column(title, is_number=True) for title in (*marks, "Examples")]
    cells = []
    for gram in found:
        counts = (gram.first, gram.second, len(gram.examples))
        cells.append((gram.text, *[f"{count:,}" for count in counts]))

    def build_filter(number: int) -> RowFilter:
        gram, chart = found[number], f"{WORDS_KEY} {side} {size} {marks}"
        return RowFilter(f"with “{gram.text}” right in one alone", gram.examples, (chart, number))

    draw_filter_table(
        page, f"Words, side {side + 1}", columns, cells, build_filter, f"{WORDS_KEY}_{side}"
    )
