"""Results of `analyse` for the rows of all systems: printed metrics, a table, and a page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from areaviz.analysis.buckets import Frequency, read_corpus
from areaviz.analysis.marked_error_files import read_judgements, read_judgements_of_set
from areaviz.analysis.report import report_page
from areaviz.analysis.report_content import MAX_SYSTEMS, Report
from areaviz.analysis.retention import read_stored_judgements
from areaviz.analysis.table import ALL_MEASURES, Rows, format_table_as_csv, score_columns
from areaviz.analysis.themes.theme import Theme
from areaviz.backend.backend import NamedModel
from areaviz.cli.analyse_print import (
    BY,
    print_buckets,
    print_comparison,
    print_scores,
    print_summary,
    print_themes,
)
from areaviz.intake.dataset_builder import BuiltDataset
from areaviz.notes.error_spans import Judgement
from areaviz.trace.errors import InputError, check_choice, shorten
from areaviz.trace.request import Counted, Request
from areaviz.trace.safe_files import write_whole


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Options of the command, apart from the rows."""

    # A text for word frequencies, or None.
    corpus: Path | None
    # Files with errors that raters marked.
    errors: Sequence[Path]
    # Grouping of scores, or "" for none.
    by: str
    # Conditions "NAME=VALUE" on metadata columns; only matching examples are reported.
    where: Sequence[str]
    # Files for all rows and for the whole analysis; None for no file.
    table: Path | None
    report: Path | None
    # Whether to find themes of failure, and their causes in the attention of models.
    themes: bool = False
    causes: bool = False
    # Title of the system to compare the other systems with, or "" for the first system.
    baseline: str = ""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The options after reading and checking them."""

    brought: BuiltDataset
    asked: ReportOptions
    judgements: Sequence[Judgement]
    corpus: Frequency | None
    # Indices of the examples to report, or None for all.
    places: tuple[int, ...] | None


def check_options(asked: ReportOptions, brought: BuiltDataset, titles: Sequence[str]) -> Prepared:
    """Check all options before models run.

    Args:
        asked: the options of the command.
        brought: the set and its files, as read.
        titles: titles of all systems.

    Raises:
        InputError: a file does not fit the set or cannot be written, or an option is wrong.
        BackendError: the store of notes cannot be read.
    """
    if asked.report and len(titles) > MAX_SYSTEMS:
        raise InputError(
            f"A report compares at most {MAX_SYSTEMS} systems, but there are {len(titles)}. Set"
            ' the role of some outputs to "ignore", or leave out --report.'
        )
    if asked.baseline:
        check_choice("baseline", asked.baseline, titles)
    for path in (asked.table, asked.report):
        if path:
            _check_writable(path)
    if asked.by:
        metrics = dict.fromkeys(name for one in brought.scores.values() for name in one)
        judged = [ALL_MEASURES[name].title for name in ("mqm", "judged")]
        check_choice("by", asked.by, (*BY, *metrics, *brought.dataset.metadata, *judged))
    places = _choose_examples(asked.where, brought)
    judgements = _read_judgements(asked.errors, brought, titles)
    corpus = asked.corpus
    frequency = read_corpus(corpus.name, {corpus.name: corpus}) if corpus else None
    return Prepared(brought, asked, judgements, frequency, places)


def _check_writable(path: Path) -> None:
    folder = path.parent
    if path.is_dir():
        raise InputError(f'"{path}" is a folder. Give a file in it.')
    if not folder.is_dir():
        raise InputError(f'The folder "{folder}" for "{path.name}" does not exist. Create it.')
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f'"{path}" cannot be written. Choose a place where you may write.')


def _choose_examples(wheres: Sequence[str], brought: BuiltDataset) -> tuple[int, ...] | None:
    """Return the indices of examples that meet all conditions, or None for all examples."""
    if not wheres:
        return None
    metadata = brought.dataset.metadata
    places = set(range(len(brought.dataset.examples)))
    for where in wheres:
        name, _, value = where.partition("=")
        if name not in metadata:
            known = ", ".join(map(shorten, metadata)) or "none"
            raise InputError(
                f'--where names "{shorten(where)}", but the metadata column "{shorten(name)}"'
                f" does not exist. The metadata columns are: {known}."
            )
        places &= {place for place, cell in enumerate(metadata[name]) if cell == value}
    if not places:
        raise InputError(
            f"No example has {' and '.join(map(shorten, wheres))}. Check the values of the column."
        )
    return tuple(sorted(places))


def print_results(
    prepared: Prepared, runs: Mapping[str, Rows], systems: Mapping[str, tuple[Request, NamedModel]]
) -> None:
    """Print the metrics of all systems, and write the requested files.

    Args:
        prepared: the options, as read and checked.
        runs: the rows of each system, by its title.
        systems: the models among the systems with their options, by title.
    """
    dataset, asked, places = prepared.brought.dataset, prepared.asked, prepared.places
    for name, rows in runs.items():
        kept = rows if places is None else {at: rows[at] for at in places if at in rows}
        print_summary(name, dataset, kept)
    titles = list(runs)
    scores = [score_columns(prepared.brought.scores.get(title, {})) for title in titles]
    reported = Report(
        dataset,
        titles,
        titles,
        list(runs.values()),
        scores,
        prepared.judgements,
        places,
        corpus=prepared.corpus,
        baseline=titles.index(asked.baseline) if asked.baseline else 0,
    )
    frame = reported.frame
    print_scores(frame, titles)
    for pair in reported.pairs:
        if len(runs) == 2 and not asked.baseline:
            print_comparison(frame, pair)
        else:
            print_comparison(frame, pair, (titles[pair[0]], titles[pair[1]]))
    if asked.by:
        print_buckets(frame, asked.by, titles, prepared.corpus)
    if asked.themes:
        reported = _with_themes(reported, systems if asked.causes else {})
    if asked.table:
        write_whole(asked.table, format_table_as_csv(frame))
    if asked.report:
        write_whole(asked.report, report_page(reported).encode("utf-8", "replace"))
        typer.echo(f"Report written to {asked.report}")


def _with_themes(report: Report, systems: Mapping[str, tuple[Request, NamedModel]]) -> Report:
    """Find themes and their causes in some models, print them, and return the report with them."""
    # Imported late, because scipy takes a second and most calls do not look for themes.
    from areaviz.analysis.themes.causes_of_lists import System, find_causes
    from areaviz.analysis.themes.table_themes import find_themes_of_table

    dataset, frame, titles = report.dataset, report.frame, list(report.titles)
    found = find_themes_of_table(dataset, frame, len(titles))
    models = {}
    for title, (request, model) in systems.items():
        models[titles.index(title)] = System(request, model.open().trace)
    causes = find_causes(dataset, frame, found, models, _begin_theme)
    print_themes(found, len(titles), causes)
    return replace(report, themes=found, causes=causes)


def _begin_theme(theme: Theme) -> Counted:
    typer.echo(f"Searching the attention for causes: {theme.statement}.", err=True)
    return lambda done, planned: None


def _read_judgements(
    paths: Sequence[Path], brought: BuiltDataset, systems: Sequence[str]
) -> list[Judgement]:
    """Return the judgements in the given files.

    Without files, return the judgements made in the app and those in the files of the set.
    """
    digest = brought.dataset.digest
    if not paths:
        known = read_stored_judgements(digest)
        return read_judgements_of_set(brought.marked, brought.dataset, systems, known)
    for name in brought.marked:
        typer.echo(
            f'The errors in "{shorten(name)}" are not used, because --errors names other files.',
            err=True,
        )
    found: list[Judgement] = []
    for path in paths:
        found += read_judgements(path.name, path.read_bytes(), brought.dataset, systems)
    return [one for one in found if one.dataset == digest]
