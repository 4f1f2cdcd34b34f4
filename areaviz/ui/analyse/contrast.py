"""Where a model is good and where it is not, by bucket, and what one of two models does better."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.buckets import BUCKETINGS, bucket_table, word_table
from areaviz.analysis.contrast import corpus_change, grams, mean_change, wins
from areaviz.analysis.table import ALL_MEASURES
from areaviz.ui.shell.markdown import visible
from areaviz.views.charts import bars

# Keys of widgets.
BUCKETS, AGAINST = "buckets", "against"
KIND = "analyse_bucket"
# In the session: the last test of the whole set, and of which outputs it was.
TEST = "analyse_test"
WORDS = "words"
CORPUS = {"corpus_bleu": "BLEU of the bucket", "corpus_chrf": "chrF of the bucket"}


def by_bucket(table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw scores and attention of the examples of each bucket."""
    if table.empty:
        return
    kinds = {name: how.title for name, how in BUCKETINGS.items()}
    if "chrf_0" not in table:
        del kinds["score"]
    shown_names = {}
    if _has_references(table):
        kinds[WORDS] = "Frequency of words"
        shown_names.update(CORPUS)
    for name, measure in ALL_MEASURES.items():
        if f"{name}_0" in table:
            shown_names[name] = f"{measure.title}, mean"
    # Computed only while it is open: scores of a thousand examples take a second.
    opened = st.expander(
        "By bucket",
        key=BUCKETS,
        type="compact",
        on_change="rerun",
    )
    if not opened.open:
        return
    with opened:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            kind = st.segmented_control(
                "Sort by",
                list(kinds),
                key=KIND,
                format_func=kinds.__getitem__,
                default="length",
                required=True,
            )
            if kind != WORDS:
                names = list(shown_names)
                shown = st.selectbox(
                    "Show",
                    names,
                    key="analyse_bucket_shown",
                    format_func=shown_names.__getitem__,
                    width=260,
                )
        if kind == WORDS:
            found, column, counted = word_table(table, len(titles)), "f1", "words"
            axes = "how often references have the word", "F-measure"
            title = "Words written where the reference has them, by how frequent they are"
        else:
            kind = kind or "length"
            is_corpus = shown in CORPUS
            column = shown if is_corpus else "mean"
            taken = "length" if is_corpus else shown
            found, counted = bucket_table(table, kind, taken, len(titles)), "examples"
            axes = BUCKETINGS[kind].about, shown_names[shown]
            title = f"{shown_names[shown]} by {kinds[kind].lower()}"
        _draw(found, column, counted, titles, axes, title)


def _draw(
    found: pd.DataFrame,
    column: str,
    counted: str,
    titles: Sequence[str],
    axes: tuple[str, str],
    title: str,
) -> None:
    """Bars and their table.

    Args:
        found: a line for each bucket.
        column: what is shown; its name ends in the number of the run.
        counted: the column of what is in the buckets.
        titles: of the runs' models.
        axes: titles of x and y.
        title: of the figure.
    """
    buckets = list(found["bucket"])
    counts = [f"{count:,}" for count in found[counted]]
    cells, values = {"Bucket": buckets, counted.capitalize(): counts}, {}
    for run, model in enumerate(titles):
        name = f"({run + 1}) {model}" if len(titles) > 1 else model
        heights = found[f"{column}_{run}"]
        values[name] = list(heights)
        cells[name] = list(heights.map("{:.3g}".format).where(heights.notna(), "–"))
    st.plotly_chart(
        bars(buckets, values, axes, title),
        key="analyse_bucket_bars",
        config={"displayModeBar": False},
        alt=title,
    )
    st.table(cells, border="horizontal", hide_index=True)


def _has_references(table: pd.DataFrame) -> bool:
    return bool((table["reference"] != "").any())


def against(table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Draw how often each of two models wins, whether by chance, and with which words."""
    if len(titles) != 2 or table.empty:
        return
    opened = st.expander(
        "Model against model",
        key=AGAINST,
        type="compact",
        on_change="rerun",
    )
    if not opened.open:
        return
    with opened:
        st.caption(
            "Wins are examples in which the second model is better. The interval holds the mean"
            " change of 95 % of 1,000 sets drawn anew from these examples (bootstrap, seed 1);"
            " where it leaves out 0, the change is hardly chance."
        )
        st.table(_changes(table), border="horizontal", hide_index=True)
        if _has_references(table):
            st.button("Test BLEU and chrF of the whole set", on_click=_test, args=(table,))
            _tested(table)
            _grams(table, titles)


def _changes(table: pd.DataFrame) -> pd.DataFrame:
    """Wins and changes, a line for each measure."""
    rows = []
    for name, measure in ALL_MEASURES.items():
        if f"{name}_change" not in table:
            continue
        change = table[f"{name}_change"].to_numpy(float)
        counts = [f"{count:,}" for count in wins(change, measure.better)]
        if not measure.better:
            counts[0] = counts[2] = "–"
        mean, low, high = (f"{value:+.3g}".replace("-", "−") for value in mean_change(change))
        rows.append((measure.title, *counts, mean, f"{low} to {high}"))
    heads = ["Measure", "Wins", "Ties", "Losses", "Mean change", "95 % interval"]
    return pd.DataFrame(rows, columns=heads)


def _test(table: pd.DataFrame) -> None:
    with st.spinner("Drawing 1,000 sets"):
        st.session_state[TEST] = (_mark(table), corpus_change(table))


def _tested(table: pd.DataFrame) -> None:
    mark, found = st.session_state.get(TEST, (None, {}))
    if mark != _mark(table):
        return
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF")):
        one = found[name]
        st.caption(
            f"{title}: {one.baseline:.2f} and {one.system:.2f}, a difference of"
            f" {one.difference:+.2f}; the probability of one as large by chance is"
            f" {one.p_value:.3f} (paired bootstrap by sacrebleu, 1,000 draws)."
        )


def _mark(table: pd.DataFrame) -> int:
    """Tells these outputs from others."""
    return hash((tuple(table.index), tuple(table["output_0"]), tuple(table["output_1"])))


def _grams(table: pd.DataFrame, titles: Sequence[str]) -> None:
    size = st.segmented_control(
        "Words in a row",
        [1, 2, 3, 4],
        key="analyse_gram",
        default=1,
        required=True,
    )
    sides = grams(table, size or 1)
    columns = st.columns(2, gap="medium")
    for number, (column, title, found) in enumerate(zip(columns, titles, sides, strict=True), 1):
        with column:
            st.caption(f"Right more often in ({number}) {visible(title)}")
            rows = []
            for gram in found:
                words = visible(gram.text).replace("\\", "\\\\")
                counts = (gram.first, gram.second, len(gram.examples))
                rows.append((words, *[f"{count:,}" for count in counts]))
            if rows:
                shown = pd.DataFrame(rows, columns=["Words", "(1)", "(2)", "Examples"])
                st.table(shown, border="horizontal", hide_index=True)
            else:
                st.caption("none")
