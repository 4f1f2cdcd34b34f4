"""Where a model is good and where it is not, by bucket, and what one of two models does better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.buckets import BUCKETINGS, bucket_table, word_table
from areaviz.analysis.contrast import Gram, corpus_change, grams, mean_change, wins
from areaviz.analysis.measures import MEASURES
from areaviz.ui.analyse.filter import TITLES
from areaviz.ui.shell.markdown import visible
from areaviz.views.buckets import bars

BUCKETS, AGAINST = "buckets", "against"
KIND, SHOWN, SIZE, TEST = (f"analyse_{name}" for name in ("bucket", "bucket_shown", "gram", "test"))
WORDS = "words"
CORPUS = {"corpus_bleu": "BLEU of the bucket", "corpus_chrf": "chrF of the bucket"}
_CONFIG = {"displayModeBar": False}


def by_bucket(table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Scores and attention of the examples of each bucket."""
    if table.empty:
        return
    kinds = {
        name: kind.title
        for name, kind in BUCKETINGS.items()
        if name != "score" or "chrf_0" in table
    }
    if (table["reference"] != "").any():
        kinds[WORDS] = "Frequency of words"
    # Computed only while it is open: scores of a thousand examples take a second.
    opened = st.expander("By bucket", key=BUCKETS, type="compact", on_change="rerun")
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
                offered = _offered(table)
                shown = st.selectbox(
                    "Show", list(offered), key=SHOWN, format_func=offered.__getitem__, width=260
                )
        names = _names(titles)
        if kind == WORDS:
            found = word_table(table, len(titles))
            values = {name: list(found[f"f1_{run}"]) for run, name in enumerate(names)}
            axes = "how often references have the word", "F-measure"
            title = "Words written where the reference has them, by how frequent they are"
            counts = found.rename(columns={"words": "Words"})[["bucket", "Words"]]
        else:
            found = bucket_table(table, kind or "length", _measure(shown), len(titles))
            column = shown if shown in CORPUS else "mean"
            values = {name: list(found[f"{column}_{run}"]) for run, name in enumerate(names)}
            axes = BUCKETINGS[kind or "length"].about, offered[shown]
            title = f"{offered[shown]} by {kinds[kind or 'length'].lower()}"
            counts = found.rename(columns={"examples": "Examples"})[["bucket", "Examples"]]
        buckets = [str(name) for name in found["bucket"]]
        st.plotly_chart(
            bars(buckets, values, axes, title), key="analyse_bucket_bars", config=_CONFIG, alt=title
        )
        st.table(_beside(counts, values), border="horizontal", hide_index=True)


def against(table: pd.DataFrame, titles: Sequence[str]) -> None:
    """Of two models: in how many examples each wins, whether that is chance, and the words one has
    right more often.
    """
    if len(titles) != 2 or table.empty:
        return
    opened = st.expander("Model against model", key=AGAINST, type="compact", on_change="rerun")
    if not opened.open:
        return
    with opened:
        st.caption(
            "Wins are examples in which the second model is better. The interval holds the mean"
            " change of 95 % of 1,000 sets drawn anew from these examples (bootstrap, seed 1);"
            " where it leaves out 0, the change is hardly chance."
        )
        st.table(_changes(table), border="horizontal", hide_index=True)
        if (table["reference"] != "").any():
            st.button("Test BLEU and chrF of the whole set", on_click=_test, args=(table,))
            _tested(table)
            _grams(table, titles)


def _changes(table: pd.DataFrame) -> Mapping[str, list[str]]:
    rows = []
    for name, title in TITLES.items():
        if f"{name}_change" not in table:
            continue
        change = table[f"{name}_change"].to_numpy(float)
        better = MEASURES[name].better if name in MEASURES else "high"
        won, same, lost = wins(change, better or "high")
        mean, low, high = mean_change(change)
        counts = [f"{won:,}", f"{same:,}", f"{lost:,}"] if better else ["–", f"{same:,}", "–"]
        rows.append([title, *counts, _signed(mean), f"{_signed(low)} to {_signed(high)}"])
    heads = ("Measure", "Wins", "Ties", "Losses", "Mean change", "95 % interval")
    return {head: [row[place] for row in rows] for place, head in enumerate(heads)}


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
    """What tells these outputs from others."""
    return hash((tuple(table.index), tuple(table["output_0"]), tuple(table["output_1"])))


def _grams(table: pd.DataFrame, titles: Sequence[str]) -> None:
    size = st.segmented_control("Words in a row", [1, 2, 3, 4], key=SIZE, default=1, required=True)
    sides = grams(table, size or 1, most=12)
    for column, title, found, number in zip(
        st.columns(2, gap="medium"), titles, sides, (1, 2), strict=True
    ):
        with column:
            st.caption(f"Right more often in ({number}) {visible(title)}")
            if found:
                st.table(_gram_table(found), border="horizontal", hide_index=True)
            else:
                st.caption("none")


def _gram_table(found: Sequence[Gram]) -> Mapping[str, list[str]]:
    return {
        "Words": [visible(one.text).replace("\\", "\\\\") for one in found],
        "(1)": [f"{one.first:,}" for one in found],
        "(2)": [f"{one.second:,}" for one in found],
        "Examples": [f"{len(one.examples):,}" for one in found],
    }


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def _offered(table: pd.DataFrame) -> Mapping[str, str]:
    """What can be shown of buckets: scores of a bucket as one corpus, and means of measures."""
    scores = CORPUS if (table["reference"] != "").any() else {}
    return {
        **scores,
        **{name: f"{title}, mean" for name, title in TITLES.items() if f"{name}_0" in table},
    }


def _measure(shown: str) -> str:
    return "length" if shown in CORPUS else shown


def _beside(counts: pd.DataFrame, values: Mapping[str, Sequence[float]]) -> Mapping[str, list[str]]:
    columns = {
        str(name).capitalize(): [f"{x:,}" if isinstance(x, int) else str(x) for x in counts[name]]
        for name in counts
    }
    return columns | {
        name: ["–" if x != x else f"{x:.3g}" for x in heights] for name, heights in values.items()
    }


def _names(titles: Sequence[str]) -> list[str]:
    if len(titles) == 1:
        return list(titles)
    return [f"({number}) {title}" for number, title in enumerate(titles, 1)]
