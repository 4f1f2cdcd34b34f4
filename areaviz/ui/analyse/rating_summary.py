"""Results of rating: metrics of examples, agreement, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from areaviz.analysis.buckets import Frequency
from areaviz.analysis.rating_metrics import (
    average_ratings,
    compute_agreement,
    count_error_kinds,
    group_by_example,
)
from areaviz.analysis.report import report_page
from areaviz.analysis.report_content import MAX_SYSTEMS, Report
from areaviz.analysis.table import with_scores
from areaviz.analysis.themes.theme import Themes
from areaviz.app.texts import draw_text_table
from areaviz.draw.labels import number_text
from areaviz.notes.error_spans import Judgement
from areaviz.ui.analyse.filter import format_run_mark
from areaviz.ui.analyse.link_access import draw_download_button
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import build_examples_table, open_note_store
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.analyse.theme_causes import list_known_causes

MAX_ERROR_KINDS = 12


def build_scored_table(systems: Systems, judgements: Sequence[Judgement]) -> pd.DataFrame:
    """Return the table of examples with the scores from files and from raters."""
    more = []
    for analysis, judged in zip(
        systems.analyses, _list_current_ratings(systems, judgements), strict=True
    ):
        scores = average_ratings(judged, len(systems.dataset.examples))
        more.append({**analysis.scores, **scores})
    return with_scores(build_examples_table(systems.runs), more)


def _list_current_ratings(
    systems: Systems, judgements: Sequence[Judgement]
) -> list[dict[int, list[Judgement]]]:
    """Return the ratings of each system's present outputs, by index of the example."""
    names = zip(systems.names, systems.runs, strict=True)
    return [group_by_example(judgements, name, run.rows) for name, run in names]


def draw_rater_agreement(systems: Systems, judgements: Sequence[Judgement]) -> None:
    """Draw a summary of the marked errors: their kinds, and the raters' agreement."""
    judged = _list_current_ratings(systems, judgements)
    if not any(judged):
        return
    with st.expander("Errors by kind, and agreement", key="raters", type="compact"):
        st.caption(
            "Errors cost by MQM: neutral 0, minor 1 (punctuation 0.1), major 5 (no translation 25),"
            " critical 25."
        )
        kinds = []
        for category, severity, counts in count_error_kinds(judged)[:MAX_ERROR_KINDS]:
            kinds.append((category, severity, *map(str, counts)))
        heads = ["Category", "Severity"]
        for run, one in enumerate(systems.analyses):
            heads.append(f"{one.title}{format_run_mark(run, len(systems))}")
        draw_text_table(pd.DataFrame(kinds, columns=heads))
        _draw_agreement([one for some in judged for each in some.values() for one in each])


def _draw_agreement(judgements: Sequence[Judgement]) -> None:
    found = compute_agreement(judgements)
    if not found:
        st.caption("No output was judged by two raters, so nobody knows how far they agree.")
        return
    rows = []
    for one in found:
        alpha = number_text(one.alpha, ".3f")
        rows.append((one.about, alpha, str(one.raters), f"{one.units:,}"))
    heads = ["Agreement on", "Krippendorff's alpha", "Raters", "Rated by two or more"]
    draw_text_table(pd.DataFrame(rows, columns=heads))
    st.caption("1 is full agreement, 0 is agreement by chance.")


def draw_report_download(
    page: AnalysePage,
    systems: Systems,
    judgements: Sequence[Judgement],
    table: pd.DataFrame,
    corpus: Frequency | None,
    themes: Sequence[Themes] = (),
) -> None:
    """Draw a button that downloads the analysis of these examples as one HTML page."""
    made = Report(
        systems.dataset,
        systems.names,
        [one.title for one in systems.analyses],
        [run.rows for run in systems.runs],
        [one.scores for one in systems.analyses],
        judgements,
        [int(place) for place in table.index],
        page.state.measure.rpartition("_")[0],
        corpus,
        themes,
        list_known_causes(page.state.themes),
        page.state.first,
    )
    store = open_note_store().judgements

    def build_page() -> bytes:
        # Other users may have marked errors since this page was drawn.
        now = replace(made, judgements=store.list_all(made.dataset.digest))
        return report_page(now).encode("utf-8", "replace")

    draw_download_button(
        "Report as a page",
        build_page,
        "areaviz-report.html",
        "text/html",
        "analyse_report",
        disabled=table.empty or len(systems) > MAX_SYSTEMS,
        help="Figures, buckets, wins and losses, and examples with their errors, in one file. A"
        f" report compares at most {MAX_SYSTEMS} systems.",
    )
