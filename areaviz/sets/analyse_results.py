"""Results of the command `analyse`: printed metrics, a table, and a page."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import typer

from areaviz.backend.backend import NamedModel
from areaviz.samples.dataset import Dataset
from areaviz.sets.buckets import (
    BUCKETINGS,
    Frequency,
    bucket_by_metadata,
    bucket_by_values,
    bucket_table,
    build_word_table,
    compare_corpus_scores,
    count_wins,
    find_distinguishing_ngrams,
    list_bucketings,
    mean_change,
    read_corpus,
)
from areaviz.sets.dataset import BuiltDataset
from areaviz.sets.measures import MEASURES
from areaviz.sets.notes.marot import read_judgements, read_judgements_of_set
from areaviz.sets.notes.notes import Judgement
from areaviz.sets.report import MAX_SYSTEMS, Report, report_page
from areaviz.sets.retention import read_stored_judgements
from areaviz.sets.table import (
    ALL_MEASURES,
    SCORE,
    Rows,
    format_table_as_csv,
    list_measures,
    list_metadata_columns,
    score_columns,
    summarise_table,
    with_changes,
)
from areaviz.sets.themes.causes import Causes, make_cause_key
from areaviz.sets.themes.themes import (
    METHOD,
    NO_THEMES,
    Theme,
    Themes,
    describe_rare_conditions,
    list_title,
    split_parts,
)
from areaviz.trace.errors import InputError, check_choice, shorten
from areaviz.trace.request import Counted, Request
from areaviz.trace.safe_files import write_whole

# Printed results of `analyse`.


WORDS = "words"
# Maximum number of words printed per side.
MAX_WORDS = 8
# Groupings of scores, in addition to scores from files.
BY = (*BUCKETINGS, WORDS)


def print_summary(name: str, dataset: Dataset, rows: Rows) -> None:
    """Print the metrics of the whole set."""
    typer.echo(f"{name}:")
    for measure, value in summarise_table(dataset, rows).items():
        figure = f"{value:,.0f}" if measure in ("examples", "failed") else f"{value:.4g}"
        typer.echo(f"  {measure}: {figure}")


def print_scores(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Print the mean of every score of other tools and of the raters' judgements."""
    for name, measure in list_measures(frame).items():
        if name not in MEASURES:
            means = [frame[f"{name}_{run}"].mean() for run in range(len(names))]
            texts = ["–" if mean != mean else f"{mean:.4g}" for mean in means]
            typer.echo(f"{measure.title}, mean: {', '.join(texts)}")


def print_comparison(
    frame: pd.DataFrame, pair: tuple[int, int], names: tuple[str, str] = ("first", "second")
) -> None:
    """Print how often the second of two runs is better, and whether that could be chance.

    Args:
        frame: the table of all runs.
        pair: the indices of the two runs, from 0.
        names: the names of the two runs to print.
    """
    frame = with_changes(frame, *pair)
    first, second = names
    is_named = names != ("first", "second")
    typer.echo(f"{second} vs {first}:" if is_named else "The second system vs the first:")
    for name, measure in list_measures(frame).items():
        if not measure.better:
            continue
        change = frame[f"{name}_change"].to_numpy(float)
        if not np.isfinite(change).any():
            # There is nothing to compare, for example if errors were marked for one system only.
            continue
        better, same, worse = count_wins(change, measure.better)
        mean, low, high = mean_change(change)
        typer.echo(
            f"  {name.removeprefix(SCORE)}: {better:,} better, {same:,} as good, {worse:,} worse;"
            f" mean change {mean:+.3g}, 95 % interval {low:+.3g} to {high:+.3g}"
        )
    for name, change_of in compare_corpus_scores(frame, pair).items():
        typer.echo(
            f"  corpus_{name}: {change_of.difference:+.2f}, p = {change_of.p_value:.3f}"
            " (approximate randomisation)"
        )
    for whose, found in zip(names, find_distinguishing_ngrams(frame, 1, pair), strict=True):
        words = [f"{one.text} ({one.first:,} to {one.second:,})" for one in found[:MAX_WORDS]]
        if words:
            who = whose if is_named else f"the {whose}"
            typer.echo(f"  Words that {who} gets right more often: {', '.join(words)}")


def print_buckets(
    frame: pd.DataFrame, by: str, names: Sequence[str], corpus: Frequency | None
) -> None:
    """Print the scores of each bucket of examples, or of words by their frequency."""
    measures = {
        one.title: name for name, one in list_measures(frame).items() if name not in MEASURES
    }
    metadata = {title: name for name, title in list_metadata_columns(frame).items()}
    check_choice("by", by, (*BY, *measures, *metadata))
    column, counted = "corpus_chrf", "examples"
    if by == WORDS:
        found, column, counted = build_word_table(frame, len(names), corpus), "f1", "words"
        who = "the references" if corpus is None else "the corpus"
        typer.echo(f"F-measure of words, by their frequency in {who}:")
    else:
        how = list_bucketings(corpus).get(by)
        if how is None and by in measures:
            how = bucket_by_values(frame, f"{measures[by]}_0", by)
        elif how is None:
            how = bucket_by_metadata(frame, metadata[by], by)
        if how is None:
            raise InputError(
                f"The examples cannot be grouped by {by}: they all have the same value, or each"
                " has its own. Choose another grouping."
            )
        found = bucket_table(frame, how, "length", len(names))
        typer.echo(f"chrF by {how.about}:")
    for row in found.to_dict("records"):
        values = [f"{row[f'{column}_{run}']:.3g}" for run in range(len(names))]
        typer.echo(f"  {row['bucket']} ({row[counted]:,} {counted}): {', '.join(values)}")


def print_themes(lists: Sequence[Themes], systems: int, causes: Causes) -> None:
    """Print the method, the themes of each list with their causes, and too rare conditions.

    Args:
        lists: the lists of themes.
        systems: the number of compared systems.
        causes: sentences about the causes in attention, by theme.
    """
    typer.echo(METHOD)
    for themes in lists:
        typer.echo(f"{list_title(themes, systems)}:")
        if not themes.found:
            typer.echo(f"  {NO_THEMES}")
        for part in split_parts(themes):
            typer.echo(f"  {part.title}:")
            for number, theme in enumerate(part.themes, 1):
                typer.echo(f"  {number:>3}. {theme.sentence}")
                for sentence in causes.get(make_cause_key(themes, theme), ()):
                    typer.echo(f"       {sentence}")
    rare = describe_rare_conditions(lists)
    if rare:
        typer.echo(rare)


# Results of `analyse` for the rows of all systems: printed metrics, a table, and a page.


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
    from areaviz.sets.themes.causes import System, find_causes
    from areaviz.sets.themes.themes import find_themes_of_table

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
