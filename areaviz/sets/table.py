"""The rows of runs as a table, metrics of the whole dataset, and results of human ratings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.draw import view
from areaviz.draw.view import Table
from areaviz.measures.alignment import LinkCounts
from areaviz.measures.references import (
    compute_bleu_and_chrf,
    compute_cider_d,
    score_brackets,
    split_caption,
)
from areaviz.media.formats import SOUND
from areaviz.samples.dataset import SENTENCES, TREES, Dataset, Example
from areaviz.sets.measures import MEASURES, Measure, has_digits_to_recognise
from areaviz.sets.notes.notes import OUTPUT, SEVERITIES, Judgement
from areaviz.sets.roles import parse_numbers
from areaviz.sets.run import Row

# The rows of one or more runs as a table, and metrics of the whole dataset.


Rows = Mapping[int, Row]
CIDER, MQM, JUDGED = "cider_d", "mqm", "judged"
# Metrics by name, in the order in which tables show them: metrics of single rows, metrics that need
# the whole dataset, and metrics from raters.
ALL_MEASURES: Mapping[str, Measure] = {
    **MEASURES,
    CIDER: Measure("CIDEr-D", "CIDEr-D, 0 to 10.", "high"),
    MQM: Measure(
        "MQM", "Cost of the errors that raters marked, by MQM's weights. 0 is best.", "low"
    ),
    JUDGED: Measure("Judged", "Mean of the scores that raters gave, 0 to 100.", "high"),
}
# Prefix of the column of a score from a file.
SCORE = "score:"
# The column of the first reference, and the prefix of the columns of further references.
REFERENCE = "reference"
# Prefix of a metadata column.
META = "meta:"
# Words in names of scores for which lower is better. For all other scores, higher is better.
_LOW = frozenset(("ter", "wer", "cer", "metricx", "error", "errors", "loss", "perplexity"))
# Scores of the whole dataset that are shown in place of the mean over its sentences.
WHOLE_SET_METRICS = {
    "examples": "Examples",
    "failed": "Not run",
    "spoken_error": "Error",
    "right": "Right",
    "corpus_f1": "Bracket F1",
    "tour_ratio": "Length",
    "hull_area": "Area",
    "facts_read": "Facts read",
    "corpus_bleu": "BLEU",
    "corpus_chrf": "chrF",
    CIDER: "CIDEr-D",
    "alignment_error": "Alignment error",
    "alignment_diagonal": "of the diagonal",
    "alignment_blind": "of one map for all words",
    "confidence": "Confidence",
}


def build_table(dataset: Dataset, runs: Sequence[Rows]) -> pd.DataFrame:
    """Return a table of the examples that have a row in every run, indexed by example.

    Columns: name, text, file; reference, and reference_2 and so on for datasets with several
    references, "" if an example has fewer; `META` plus the name of each metadata column, as numbers
    if all its values are numbers. For each run R, counted from 0, there are output_R, error_R and
    MEASURE_R. A table of two runs also has MEASURE_change, the second value minus the first. A
    metric is left out if some run has it for no example.
    """
    places = sorted(set.intersection(*map(set, runs)))
    index = pd.Index(places, name="index")

    def texts(values: Iterable[str]) -> pd.Series:
        # Use objects: pandas strings cannot hold unpaired surrogates, which a model can write.
        return pd.Series(list(values), index, dtype=object)

    examples = [dataset.examples[place] for place in places]
    table: dict[str, Any] = {}
    for name in ("name", "text", "file"):
        table[name] = texts(getattr(one, name) for one in examples)
    for number in range(max((len(one.references) for one in examples), default=0) or 1):
        column = f"reference_{number + 1}" if number else REFERENCE
        table[column] = texts("".join(one.references[number : number + 1]) for one in examples)
    for name, values in dataset.metadata.items():
        chosen_values = [values[place] for place in places]
        numbers = parse_numbers(values)
        if numbers is None:
            table[f"{META}{name}"] = texts(chosen_values)
        else:
            table[f"{META}{name}"] = [numbers[place] for place in places]
    measured = []
    for run, rows in enumerate(runs):
        chosen = [rows[place] for place in places]
        table[f"output_{run}"] = texts(row.output for row in chosen)
        table[f"error_{run}"] = texts(row.error for row in chosen)
        measured.append(_build_measure_columns(dataset.medium, examples, chosen))
    for name in ALL_MEASURES:
        if all(name in one for one in measured):
            for run, one in enumerate(measured):
                table[f"{name}_{run}"] = one[name].to_numpy()
            if len(runs) == 2:
                table[f"{name}_change"] = table[f"{name}_1"] - table[f"{name}_0"]
    return pd.DataFrame(table, index=index)


def with_changes(table: pd.DataFrame, first: int, second: int) -> pd.DataFrame:
    """Return a table of runs with the changes of all measures from one run to another.

    Args:
        table: a table as `build_table` and `with_scores` return it. It is not changed.
        first: the number of a run, from 0.
        second: the number of the run that is compared with it.
    """
    changes = {}
    for name in list_measures(table):
        changes[f"{name}_change"] = table[f"{name}_{second}"] - table[f"{name}_{first}"]
    return table.assign(**changes)


def with_scores(
    table: pd.DataFrame, scores: Sequence[Mapping[str, Sequence[float]]]
) -> pd.DataFrame:
    """Return the table with additional metrics: `ALL_MEASURES`, or `SCORE` plus a score's name.

    Args:
        table: a table as `build_table` returns it. It is not changed.
        scores: for each run, values for every example of the dataset by the name of the metric.
    """
    names = dict.fromkeys(name for one in scores for name in one)
    columns: dict[str, Any] = {}
    for name in names:
        for run, one in enumerate(scores):
            values = np.full(len(table), np.nan)
            if name in one:
                values = np.asarray(one[name], float)[table.index.to_numpy(int)]
            columns[f"{name}_{run}"] = values
        if len(scores) == 2:
            columns[f"{name}_change"] = columns[f"{name}_1"] - columns[f"{name}_0"]
    return pd.concat([table, pd.DataFrame(columns, index=table.index)], axis=1)


def score_columns(scores: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    """Return scores from a file by the names of their columns in a table."""
    return {f"{SCORE}{name}": values for name, values in scores.items()}


def list_metadata_columns(table: pd.DataFrame) -> dict[str, str]:
    """Return the names of the metadata columns of a dataset, by their column in the table."""
    names = (str(column) for column in table.columns if str(column).startswith(META))
    return {name: name.removeprefix(META) for name in names}


def list_references(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the references of every row of a table, () for an example without references."""
    names = [REFERENCE]
    while f"{REFERENCE}_{len(names) + 1}" in table:
        names.append(f"{REFERENCE}_{len(names) + 1}")
    rows = zip(*(table[name] for name in names), strict=True)
    return [tuple(text for text in row if text) for row in rows]


def list_measures(table: pd.DataFrame) -> Mapping[str, Measure]:
    """Return the metrics of a table by name, in the order in which tables show them."""
    found = {name: one for name, one in ALL_MEASURES.items() if f"{name}_0" in table}
    for column in table.columns:
        if column.startswith(SCORE) and column.endswith("_0"):
            name = column.removesuffix("_0")
            found[name] = score_measure(name)
    return found


def score_measure(name: str) -> Measure:
    """Return the description of a score from a file."""
    title = name.removeprefix(SCORE)
    words = re.split(r"[^a-z]+", title.lower())
    better = "low" if _LOW.intersection(words) else "high"
    return Measure(title, f"From a file of scores; {better} is good.", better)


def format_table_as_csv(table: pd.DataFrame, pair: tuple[int, int] | None = None) -> bytes:
    """Return a table as CSV with a byte order mark, which makes spreadsheets read it as UTF-8.

    Examples are numbered from 1. Texts that a spreadsheet would run as a formula get an apostrophe
    in front.

    Args:
        table: the table.
        pair: the two runs whose changes the table has, from the first to the second. It is needed
            if there are more than two runs. The columns of changes then end in
            `_change_FIRST_SECOND`, such as `chrf_change_0_2`.
    """
    rows = []
    for place, *cells in table.itertuples():
        rows.append((int(place) + 1, *cells))
    if pair is not None:
        first, second = pair
        columns = (f"{name}_change" for name in list_measures(table))
        table = table.rename(columns={name: f"{name}_{first}_{second}" for name in columns})
    header = ["number", *_list_csv_names(table)]
    text = view.format_csv(Table(tuple(header), rows))
    return text.removeprefix("\ufeff").encode("utf-8-sig", "replace")


def _list_csv_names(table: pd.DataFrame) -> list[str]:
    """Return the names of a table's columns in a CSV file.

    Metadata columns have their original names. If another column has this name, they keep the
    prefix `META`.
    """
    metadata = list_metadata_columns(table)
    taken = {"number", *map(str, table.columns)}
    names = []
    for column in map(str, table.columns):
        name = metadata.get(column, column)
        names.append(column if name in taken else name)
    return names


def _build_measure_columns(
    medium: str, examples: Sequence[Example], rows: Sequence[Row]
) -> pd.DataFrame:
    """Return a column for every metric that some row has, NaN where a row lacks it."""
    found = pd.DataFrame([row.measures for row in rows])
    # CIDEr-D weights words by their rarity in the dataset, so it is computed over all rows.
    pairs = list(zip(examples, rows, strict=True))
    scored = [n for n, (example, row) in enumerate(pairs) if example.references and not row.error]
    describes = all(_is_description(examples[n]) for n in scored)
    if scored and describes and medium != SOUND:
        outputs = [split_caption(rows[n].output) for n in scored]
        references = [[split_caption(text) for text in examples[n].references] for n in scored]
        found.loc[scored, CIDER] = compute_cider_d(outputs, references)
    return found


def _is_description(example: Example) -> bool:
    """Return whether the references describe the example's file and are not digits."""
    return bool(example.file) and not example.text and not has_digits_to_recognise(example)


def summarise_table(dataset: Dataset, rows: Rows) -> Mapping[str, float]:
    """Return metrics of the whole dataset, in the order in which they are shown.

    Keys: "examples" and "failed" are their numbers. "corpus_bleu" and "corpus_chrf" use all
    references, or "corpus_f1" compares trees with the first reference, over the examples with
    references. Every metric has its mean. "alignment_error" is computed over all links together and
    is not the mean over examples.
    """
    failed = sum(bool(row.error) for row in rows.values())
    figures: dict[str, float] = {"examples": len(rows), "failed": failed}
    outputs, references = [], list[tuple[str, ...]]()
    for place, row in rows.items():
        given = dataset.examples[place].references
        if given and not row.error:
            outputs.append(row.output)
            references.append(given)
    # Transcripts, letters and digits have no words to compare.
    if dataset.texts == TREES and outputs:
        figures["corpus_f1"] = score_brackets(outputs, [one[0] for one in references]).f1
    elif outputs and dataset.medium != SOUND and dataset.texts in ("", SENTENCES):
        figures["corpus_bleu"], figures["corpus_chrf"] = compute_bleu_and_chrf(outputs, references)
    for name in MEASURES:
        values = [row.measures[name] for row in rows.values() if name in row.measures]
        if values:
            figures[name] = float(np.mean(values))
    links = [LinkCounts(*row.links) for row in rows.values() if row.links]
    if links:
        figures["alignment_error"] = sum(links, LinkCounts()).error_rate
    return figures


# Agreement of raters beyond chance, measured by Krippendorff's alpha.
#
# It is implemented here because no light, well-maintained library provides it.
#
# Shapes: R raters, U rated units, V distinct values.


# Levels of measurement: values differ or not, have an order, or have distances.
LEVELS = ("nominal", "ordinal", "interval")
Floats = npt.NDArray[np.floating[Any]]


def compute_krippendorff_alpha(ratings_RU: Floats, level: str) -> float:
    """Compute Krippendorff's alpha: 1 for perfect agreement, 0 for agreement by chance.

    alpha = 1 - D_o / D_e. D_o is the disagreement observed within units. D_e is the disagreement
    expected if the values were assigned to units at random (Krippendorff 2011, "Computing
    Krippendorff's Alpha-Reliability"). There may be any number of raters, and ratings may be
    missing.

    Args:
        ratings_RU: The value that each rater gave to each unit, NaN if it is missing. Nominal
            values are coded as arbitrary numbers.
        level: One of `LEVELS`.

    Returns:
        alpha, or NaN if no unit has two ratings or all values are equal.
    """
    counts_UV, values_V = _count_values(np.asarray(ratings_RU, np.float64))
    if not len(counts_UV) or len(values_V) < 2:
        return float("nan")
    # Count every pair of values within a unit. Each rating of a unit has the same weight.
    each_U = counts_UV.sum(1)
    pairs_VV = (counts_UV / (each_U - 1)[:, None]).T @ counts_UV
    pairs_VV -= np.diag((counts_UV / (each_U - 1)[:, None]).sum(0))
    total_V = pairs_VV.sum(1)
    expected_VV = np.outer(total_V, total_V) / (total_V.sum() - 1)
    distance_VV = _compute_distances(values_V, total_V, level)
    chance = float((expected_VV * distance_VV).sum())
    return 1 - float((pairs_VV * distance_VV).sum()) / chance if chance else float("nan")


def _count_values(ratings_RU: Floats) -> tuple[Floats, Floats]:
    """Count how often each unit got each value, for units with two or more ratings."""
    known_RU = np.isfinite(ratings_RU)
    ratings_RU = ratings_RU[:, known_RU.sum(0) > 1]
    known_RU = np.isfinite(ratings_RU)
    values_V, at = np.unique(ratings_RU[known_RU], return_inverse=True)
    counts_UV = np.zeros((ratings_RU.shape[1], len(values_V)))
    np.add.at(counts_UV, (np.nonzero(known_RU)[1], at), 1)
    return counts_UV, values_V


def _compute_distances(values_V: Floats, total_V: Floats, level: str) -> Floats:
    """Return the squared distance of each pair of values."""
    if level == "nominal":
        return 1.0 - np.eye(len(values_V))
    places_V: Floats = values_V
    if level == "ordinal":
        # The distance of two values is the number of ratings between them, plus half the number of
        # ratings that have one of the two values.
        places_V = np.cumsum(total_V) - total_V / 2
    elif level != "interval":
        raise ValueError(f'"{level}" is not a level of measurement.')
    found: Floats = np.subtract.outer(places_V, places_V) ** 2
    return found


# Results of human ratings: scores per example, errors by kind, and agreement of raters.


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the raters on one question."""

    # Names the question, for display.
    about: str
    # Krippendorff's alpha. NaN if it cannot be computed.
    alpha: float
    # Number of raters, and number of outputs or characters with at least two ratings.
    raters: int
    units: int


def group_by_example(
    judgements: Iterable[Judgement], model: str, rows: Rows
) -> dict[int, list[Judgement]]:
    """Return the ratings of a system's present outputs, by index of the example.

    Ratings of outputs that have changed since are left out.
    """
    found: dict[int, list[Judgement]] = defaultdict(list)
    for one in judgements:
        row = rows.get(one.example)
        if one.counts and one.model == model and row is not None and row.output == one.output:
            found[one.example].append(one)
    return found


def average_ratings(
    judged: Mapping[int, Sequence[Judgement]], count: int
) -> dict[str, Sequence[float]]:
    """Return the MQM error cost and the score from 0 to 100 of each example, averaged over raters.

    Args:
        judged: the ratings of one system, by index of the example.
        count: the number of examples in the dataset.

    Returns:
        Values by the name of the metric, NaN for unrated examples, or {} if there are no ratings.
    """
    mqm, scores = np.full(count, np.nan), np.full(count, np.nan)
    for place, some in judged.items():
        mqm[place] = np.mean([one.mqm for one in some])
        given = [one.score for one in some if one.score is not None]
        if given:
            scores[place] = np.mean(given)
    found = {MQM: mqm, JUDGED: scores}
    return {name: values.tolist() for name, values in found.items() if np.isfinite(values).any()}


def count_error_kinds(
    judged: Sequence[Mapping[int, Sequence[Judgement]]],
) -> list[tuple[str, str, tuple[int, ...]]]:
    """Count the marked errors of each category and severity, the most frequent first.

    Args:
        judged: the ratings of each system, by index of the example.

    Returns:
        Category, severity, and the number of errors of each system.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for system, by_place in enumerate(judged):
        for some in by_place.values():
            for span in (span for one in some for span in one.spans):
                kind = span.category or "no category", span.severity
                counts.setdefault(kind, [0] * len(judged))[system] += 1
    ordered = sorted(counts.items(), key=lambda one: (-sum(one[1]), one[0]))
    return [(*kind, tuple(number)) for kind, number in ordered]


def compute_agreement(judgements: Iterable[Judgement]) -> list[Agreement]:
    """Compute the agreement of raters on every question that two of them answered for an output.

    Scores and MQM costs are compared as numbers. Positions and severities of errors are compared
    as the severity of every character of the output, on the ordinal scale from none to critical.
    """
    by_output: dict[tuple[object, ...], list[Judgement]] = defaultdict(list)
    for one in judgements:
        if one.counts:
            by_output[one.dataset, one.example, one.model, one.output].append(one)
    shared = [some for some in by_output.values() if len({one.rater for one in some}) > 1]
    raters = sorted({one.rater for some in shared for one in some})
    if not shared:
        return []
    scores_RU = _tabulate_values(raters, shared, lambda one: one.score)
    mqm_RU = _tabulate_values(raters, shared, lambda one: one.mqm)
    severities_RC = np.concatenate(
        [_find_character_severities(raters, some) for some in shared], axis=1
    )
    found = []
    for about, ratings, level in (
        ("Score, 0 to 100", scores_RU, "interval"),
        ("Cost by MQM", mqm_RU, "interval"),
        ("Severity of each character", severities_RC, "ordinal"),
    ):
        units = int((np.isfinite(ratings).sum(0) > 1).sum())
        if units:
            alpha = compute_krippendorff_alpha(ratings, level)
            found.append(Agreement(about, alpha, len(raters), units))
    return found


def _tabulate_values(
    raters: Sequence[str],
    shared: Sequence[Sequence[Judgement]],
    value: Callable[[Judgement], float | None],
) -> npt.NDArray[np.float64]:
    """Return the value of each rater for each output, NaN if the rater gave none."""
    found_RU = np.full((len(raters), len(shared)), np.nan)
    for unit, some in enumerate(shared):
        for one in some:
            found = value(one)
            found_RU[raters.index(one.rater), unit] = np.nan if found is None else found
    return found_RU


def _find_character_severities(
    raters: Sequence[str], some: Sequence[Judgement]
) -> npt.NDArray[np.float64]:
    """Return the worst severity that each rater marked at each character, 0 if none."""
    found_RC = np.full((len(raters), len(some[0].output)), np.nan)
    for one in some:
        row_C = found_RC[raters.index(one.rater)]
        row_C[:] = 0
        for span in one.spans:
            if span.side == OUTPUT:
                part_C = row_C[span.start : span.end]
                np.maximum(part_C, 1 + SEVERITIES.index(span.severity), out=part_C)
    return found_RC
