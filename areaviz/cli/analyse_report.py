"""What `analyse` does with the rows of all systems: figures on the screen, a table, a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from areaviz.analysis.buckets import read_corpus
from areaviz.analysis.report import report_page
from areaviz.analysis.reported import Report
from areaviz.analysis.retention import judgements_here
from areaviz.analysis.score_files import scores_of
from areaviz.analysis.table import Rows, score_columns, table_csv
from areaviz.cli.analyse_print import (
    print_buckets,
    print_comparison,
    print_scores,
    print_summary,
    print_themes,
)
from areaviz.data.examples import Dataset
from areaviz.notes.error_spans import Judgement
from areaviz.notes.marot import read_judgements
from areaviz.trace.errors import InputError
from areaviz.trace.files import write_whole


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command was asked for besides the rows."""

    # Files with scores of other tools, and with errors that raters marked.
    scores: Sequence[Path]
    # A text whose words are counted, or None.
    corpus: Path | None
    errors: Sequence[Path]
    # What scores are shown by, "" for nothing.
    by: str
    # Where all rows and the whole analysis are written, None for nowhere.
    table: Path | None
    report: Path | None
    # Whether themes of failure are looked for.
    themes: bool = False


def tell(dataset: Dataset, runs: Mapping[str, Rows], asked: Asked) -> None:
    """Print the figures of all systems, and write the files that are asked for.

    Args:
        dataset: the examples.
        runs: the rows of each system, by its title.
        asked: what is wanted.

    Raises:
        InputError: a file that was named does not fit the set.
    """
    for name, rows in runs.items():
        print_summary(name, dataset, rows)
    judgements = _judgements(asked.errors, dataset, list(runs))
    columns = _columns(asked.scores, dataset, list(runs))
    titles, corpus = [*runs], asked.corpus
    frequency = read_corpus(corpus.name, {corpus.name: corpus}) if corpus else None
    reported = Report(
        dataset, titles, titles, list(runs.values()), columns, judgements, corpus=frequency
    )
    frame = reported.frame
    print_scores(frame, titles)
    if len(runs) == 2:
        print_comparison(frame)
    if asked.by:
        print_buckets(frame, asked.by, titles, frequency)
    if asked.themes:
        # Imported here, since scipy takes a second and most calls look for no themes.
        from areaviz.analysis.themes.of_table import themes_of_table

        reported = replace(reported, themes=themes_of_table(dataset, frame, len(titles)))
        print_themes(reported.themes, len(titles))
    if asked.table:
        write_whole(asked.table, table_csv(frame))
    if asked.report:
        write_whole(asked.report, report_page(reported).encode("utf-8", "replace"))
        typer.echo(f"The report lies in {asked.report}")


def _columns(
    paths: Sequence[Path], dataset: Dataset, systems: Sequence[str]
) -> list[dict[str, Sequence[float]]]:
    """The scores of files as measures of the systems."""
    files = {path.name: path for path in paths}
    if len(files) < len(paths):
        raise InputError("Two files of scores have the same name; rename one.")
    found = scores_of([*files], files, systems, len(dataset.examples))
    return [score_columns(one) for one in found]


def _judgements(paths: Sequence[Path], dataset: Dataset, systems: Sequence[str]) -> list[Judgement]:
    """What raters said, by their files; without any what they marked in the app."""
    if not paths:
        return judgements_here(dataset.digest)
    found: list[Judgement] = []
    for path in paths:
        found += read_judgements(path.name, path.read_bytes(), dataset, systems)
    return [one for one in found if one.dataset == dataset.digest]
