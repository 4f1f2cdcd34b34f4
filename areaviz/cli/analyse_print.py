"""Printed results of `analyse`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import typer

from areaviz.analysis.buckets import (
    BUCKETINGS,
    Frequency,
    bucket_by_metadata,
    bucket_by_values,
    bucket_table,
    build_word_table,
    list_bucketings,
)
from areaviz.analysis.measures import MEASURES
from areaviz.analysis.model_comparison import (
    compare_corpus_scores,
    count_wins,
    find_distinguishing_ngrams,
    mean_change,
)
from areaviz.analysis.table import (
    SCORE,
    Rows,
    list_measures,
    list_metadata_columns,
    summarise_table,
    with_changes,
)
from areaviz.analysis.themes.causes_of_lists import Causes, make_cause_key
from areaviz.analysis.themes.list_texts import (
    METHOD,
    NO_THEMES,
    describe_rare_conditions,
    list_title,
    split_parts,
)
from areaviz.analysis.themes.theme import Themes
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError, check_choice

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
