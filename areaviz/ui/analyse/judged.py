"""Results of rating: metrics of examples, agreement, import and export, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.analysis.buckets import Frequency
from areaviz.analysis.judged import agreement, judged_scores, kinds_of_errors, of_outputs
from areaviz.analysis.marked_files import FORMATS, read_judgements
from areaviz.analysis.report import report_page
from areaviz.analysis.reported import MAX_SYSTEMS, Report
from areaviz.analysis.table import with_scores
from areaviz.analysis.themes.theme import Themes
from areaviz.data.examples import Dataset
from areaviz.drawing.numbers import number_text
from areaviz.notes.error_spans import Judgement
from areaviz.notes.exchange import MAX_MEGABYTES
from areaviz.notes.judgement_files import to_jsonl
from areaviz.notes.judgements import Judgements
from areaviz.notes.marot import to_marot
from areaviz.ui.analyse.causes import known_causes
from areaviz.ui.analyse.exports import campaign_button, wmt_button, written
from areaviz.ui.analyse.filter import run_mark
from areaviz.ui.analyse.guest import while_shared
from areaviz.ui.analyse.notes import systems
from areaviz.ui.analyse.notes_files import list_imports
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored import Analysis, StoredRows, examples_table, note_store
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.imports import import_once
from areaviz.ui.shell.markdown import counted
from areaviz.ui.shell.reader import reader_mark
from areaviz.ui.shell.table import read_table

# Session keys: the result of the imported file, and the error of an undone import.
RESULT, PROBLEM = "judged_import", "judged_import_problem"
KINDS = 12


def measured(
    analyses: Sequence[Analysis], runs: tuple[StoredRows, ...], judgements: Sequence[Judgement]
) -> pd.DataFrame:
    """Return the table of examples with the scores from files and from raters."""
    more = []
    for name, analysis, run in zip(systems(analyses), analyses, runs, strict=True):
        judged = of_outputs(judgements, name, run.rows)
        more.append({**analysis.scores, **judged_scores(judged, len(run.dataset.examples))})
    return with_scores(examples_table(runs), more)


def raters(
    judgements: Sequence[Judgement], analyses: Sequence[Analysis], runs: Sequence[StoredRows]
) -> None:
    """Draw a summary of the marked errors: their kinds, and the raters' agreement."""
    judged = []
    for name, run in zip(systems(analyses), runs, strict=True):
        judged.append(of_outputs(judgements, name, run.rows))
    if not any(judged):
        return
    opened = st.expander("Errors by kind, and agreement", key="raters", type="compact")
    with opened:
        st.caption(
            "Errors cost by MQM: neutral 0, minor 1 (punctuation 0.1), major 5 (no translation 25),"
            " critical 25."
        )
        kinds = []
        for category, severity, counts in kinds_of_errors(judged)[:KINDS]:
            kinds.append((category, severity, *map(str, counts)))
        heads = ["Category", "Severity"]
        heads += [f"{one.title}{run_mark(run, len(runs))}" for run, one in enumerate(analyses)]
        read_table(pd.DataFrame(kinds, columns=heads))
        _agreement([one for some in judged for each in some.values() for one in each])


def _agreement(judgements: Sequence[Judgement]) -> None:
    found = agreement(judgements)
    if not found:
        st.caption("No output was judged by two raters, so nobody knows how far they agree.")
        return
    rows = []
    for one in found:
        alpha = number_text(one.alpha, ".3f")
        rows.append((one.about, alpha, str(one.raters), f"{one.units:,}"))
    heads = ["Agreement on", "Krippendorff's alpha", "Raters", "Rated by two or more"]
    read_table(pd.DataFrame(rows, columns=heads))
    st.caption("1 is full agreement, 0 is agreement by chance.")


def report_button(
    page: AnalysePage,
    analyses: Sequence[Analysis],
    runs: Sequence[StoredRows],
    judgements: Sequence[Judgement],
    table: pd.DataFrame,
    corpus: Frequency | None,
    themes: Sequence[Themes] = (),
) -> None:
    """Draw a button that downloads the analysis of these examples as one HTML page."""
    made = Report(
        runs[0].dataset,
        systems(analyses),
        [one.title for one in analyses],
        [run.rows for run in runs],
        [one.scores for one in analyses],
        judgements,
        [int(place) for place in table.index],
        page.state.measure.rpartition("_")[0],
        corpus,
        themes,
        known_causes(page.state.themes),
        page.state.first,
    )
    store = note_store().judgements

    def page_now() -> bytes:
        # Other users may have marked errors since this page was drawn.
        now = replace(made, judgements=store.list_all(made.dataset.digest))
        return report_page(now).encode("utf-8", "replace")

    st.download_button(
        "Report as a page",
        while_shared(page_now),
        "areaviz-report.html",
        "text/html",
        key="analyse_report",
        on_click="ignore",
        disabled=table.empty or len(analyses) > MAX_SYSTEMS,
        help="Figures, buckets, wins and losses, and examples with their errors, in one file. A"
        f" report compares at most {MAX_SYSTEMS} systems.",
    )


def exchange_errors(
    analyses: Sequence[Analysis], runs: Sequence[StoredRows], judgements: Sequence[Judgement]
) -> None:
    """Draw buttons to export the errors in a dataset, an uploader for import, and the imports."""
    store, dataset = note_store().judgements, runs[0].dataset
    outputs = written(analyses, runs)
    with st.expander("Export or import marked errors", key="judged_files", type="compact"):
        with st.container(horizontal=True, vertical_alignment="center"):
            said = f"{counted(len(judgements), 'judged output')} on this set"
            st.caption(said if judgements else "No errors were marked yet", width="content")
            if judgements:
                _downloads(dataset, judgements)
                wmt_button(dataset, outputs, judgements)
            campaign_button(dataset, outputs, judgements)
        given = st.file_uploader(
            "Import errors and ratings of this set",
            key="judged_given",
            help=FORMATS,
            max_upload_size=MAX_MEGABYTES,
        )
        if given is not None:
            read = partial(_import, store, dataset, systems(analyses), given)
            with show_errors("reading the errors"):
                import_once(RESULT, given, read)
        list_imports(store, dataset.digest, PROBLEM)


def _downloads(dataset: Dataset, judgements: Sequence[Judgement]) -> None:
    for label, ending, mime, made in (
        ("JSON Lines", "jsonl", "application/jsonl", partial(to_jsonl, judgements)),
        (
            "Marot's TSV",
            "tsv",
            "text/tab-separated-values",
            partial(to_marot, judgements, dataset.name),
        ),
    ):
        st.download_button(
            label,
            while_shared(made),
            f"areaviz-errors.{ending}",
            mime,
            key=f"judged_{ending}",
            on_click="ignore",
        )


def _import(store: Judgements, dataset: Dataset, names: Sequence[str], given: UploadedFile) -> str:
    """Import a file of judgements, and return the sentence that describes the result."""
    read = read_judgements(given.name, given.getvalue(), dataset, names)
    merged = store.merge(read, reader_mark())
    said = f"{counted(len(read), 'judged output')} read, {merged.new:,} new."
    others = sum(one.dataset != dataset.digest for one in read)
    if others:
        said += f" {others:,} are of other sets."
    if merged.differing:
        said += f" {merged.differing:,} differ from what the same rater marked here. Both are kept."
    return said
