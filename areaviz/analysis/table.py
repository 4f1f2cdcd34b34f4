"""The rows of one or two models as one table, and what they say of the whole set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from areaviz.analysis.answered import shows_digits
from areaviz.analysis.measure import Measure
from areaviz.analysis.measures import MEASURES
from areaviz.analysis.row_lines import Row
from areaviz.data.examples import Dataset, Example
from areaviz.data.media import SOUND
from areaviz.data.metadata import numbers_of
from areaviz.data.text_kinds import SENTENCES, TREES
from areaviz.drawing import export
from areaviz.drawing.base import Table
from areaviz.metrics.aer import LinkCounts
from areaviz.metrics.captions import caption_words, cider_d
from areaviz.metrics.translation import bleu_and_chrf
from areaviz.metrics.trees import bracket_scores

Rows = Mapping[int, Row]
CIDER, MQM, JUDGED = "cider_d", "mqm", "judged"
# By name, in the order tables show them: those of rows, what needs the whole set, what raters say.
ALL_MEASURES: Mapping[str, Measure] = {
    **MEASURES,
    CIDER: Measure("CIDEr-D", "CIDEr-D, 0 to 10.", "high"),
    MQM: Measure(
        "MQM", "What the errors that raters marked cost by MQM's weights; 0 is best.", "low"
    ),
    JUDGED: Measure("Judged", "The score that raters gave, 0 to 100, their mean.", "high"),
}
# Before the name of a score from a file.
SCORE = "score:"
# The column of first references, and how the columns of further ones begin.
REFERENCE = "reference"
# Before the name of a metadata column.
META = "meta:"
# Words in names of scores that are better the lower they are; all others are the higher.
_LOW = frozenset(("ter", "wer", "cer", "metricx", "error", "errors", "loss", "perplexity"))
# Figures of the whole set that are shown first: not the mean of its sentences where both differ.
WHOLE = {
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
    "confidence": "Confidence",
}


def table_of(dataset: Dataset, runs: Sequence[Rows]) -> pd.DataFrame:
    """One line for every example that every run has a row of, indexed by its place in the set.

    Columns: name, text, file; reference, and for sets with several references also reference_2 and
    so on, "" where an example has fewer; `META` and the name of each metadata column, as numbers
    where all its values are numbers; for each run R, counted from 0, output_R, error_R and
    MEASURE_R; with two runs also MEASURE_change, the second less the first. A measure that some
    run has of no example is left out.
    """
    places = sorted(set.intersection(*map(set, runs)))
    index = pd.Index(places, name="index")

    def texts(values: Iterable[str]) -> pd.Series:
        # As objects: pandas' own texts cannot hold half a surrogate pair, which a model can write.
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
        numbers = numbers_of(values)
        if numbers is None:
            table[f"{META}{name}"] = texts(chosen_values)
        else:
            table[f"{META}{name}"] = [numbers[place] for place in places]
    measured = []
    for run, rows in enumerate(runs):
        chosen = [rows[place] for place in places]
        table[f"output_{run}"] = texts(row.output for row in chosen)
        table[f"error_{run}"] = texts(row.error for row in chosen)
        measured.append(_measured(dataset.medium, examples, chosen))
    for name in ALL_MEASURES:
        if all(name in one for one in measured):
            for run, one in enumerate(measured):
                table[f"{name}_{run}"] = one[name].to_numpy()
            if len(runs) == 2:
                table[f"{name}_change"] = table[f"{name}_1"] - table[f"{name}_0"]
    return pd.DataFrame(table, index=index)


def with_scores(
    table: pd.DataFrame, scores: Sequence[Mapping[str, Sequence[float]]]
) -> pd.DataFrame:
    """A table of runs with more measures: names of `ALL_MEASURES`, or `SCORE` and a score's name.

    Args:
        table: as `table_of` makes it; it stays as it is.
        scores: of each run, a value for every example of the set.
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
    """Scores from a file by the names that measures have."""
    return {f"{SCORE}{name}": values for name, values in scores.items()}


def metadata_of(table: pd.DataFrame) -> dict[str, str]:
    """Return the names of the metadata columns that a table has, by their names in the table."""
    names = (str(column) for column in table.columns if str(column).startswith(META))
    return {name: name.removeprefix(META) for name in names}


def references_of(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the references of every line of a table, () for an example without any."""
    names = [REFERENCE]
    while f"{REFERENCE}_{len(names) + 1}" in table:
        names.append(f"{REFERENCE}_{len(names) + 1}")
    rows = zip(*(table[name] for name in names), strict=True)
    return [tuple(text for text in row if text) for row in rows]


def measures_of(table: pd.DataFrame) -> Mapping[str, Measure]:
    """The measures that a table has, by name, in the order tables show them."""
    found = {name: one for name, one in ALL_MEASURES.items() if f"{name}_0" in table}
    for column in table.columns:
        if column.startswith(SCORE) and column.endswith("_0"):
            name = column.removesuffix("_0")
            found[name] = score_measure(name)
    return found


def score_measure(name: str) -> Measure:
    """How a score from a file is presented."""
    title = name.removeprefix(SCORE)
    words = re.split(r"[^a-z]+", title.lower())
    better = "low" if _LOW.intersection(words) else "high"
    return Measure(title, f"From a file of scores; {better} is good.", better)


def table_csv(table: pd.DataFrame) -> bytes:
    """A table as CSV, with a mark in front by which spreadsheets know that it is UTF-8.

    Examples count from 1, as people count them, and a text that a spreadsheet would run as a
    formula gets an apostrophe in front.
    """
    rows = []
    for place, *cells in table.itertuples():
        rows.append((int(place) + 1, *cells))
    header = ["number", *_csv_names(table)]
    text = export.table_csv(Table(tuple(header), rows))
    return text.removeprefix("\ufeff").encode("utf-8-sig", "replace")


def _csv_names(table: pd.DataFrame) -> list[str]:
    """Return the names of a table's columns, those of metadata as they were brought.

    A metadata column whose name another column has keeps the mark in front.
    """
    metadata = metadata_of(table)
    taken = {"number", *map(str, table.columns)}
    names = []
    for column in map(str, table.columns):
        name = metadata.get(column, column)
        names.append(column if name in taken else name)
    return names


def _measured(medium: str, examples: Sequence[Example], rows: Sequence[Row]) -> pd.DataFrame:
    """A column for every measure that some row has, NaN where a row lacks it."""
    found = pd.DataFrame([row.measures for row in rows])
    # CIDEr-D weighs words by how rare they are in the set, so it is taken of all rows together.
    pairs = list(zip(examples, rows, strict=True))
    scored = [n for n, (example, row) in enumerate(pairs) if example.references and not row.error]
    describes = all(_describes(examples[n]) for n in scored)
    if scored and describes and medium != SOUND:
        outputs = [caption_words(rows[n].output) for n in scored]
        references = [[caption_words(text) for text in examples[n].references] for n in scored]
        found.loc[scored, CIDER] = cider_d(outputs, references)
    return found


def _describes(example: Example) -> bool:
    """Whether its right answers describe what is in its file, and no digits are read there."""
    return bool(example.file) and not example.text and not shows_digits(example)


def summary(dataset: Dataset, rows: Rows) -> Mapping[str, float]:
    """Figures of the whole set, in the order shown.

    Keys: examples and failed, how many there are; corpus_bleu and corpus_chrf against all
    references, or corpus_f1 of trees against the first one, of the examples that have any; every
    measure's mean; alignment_error, of all links together, not the mean over examples.
    """
    failed = sum(bool(row.error) for row in rows.values())
    figures: dict[str, float] = {"examples": len(rows), "failed": failed}
    outputs, references = [], list[tuple[str, ...]]()
    for place, row in rows.items():
        given = dataset.examples[place].references
        if given and not row.error:
            outputs.append(row.output)
            references.append(given)
    # What is said has no words to compare, letters or digits alone.
    if dataset.texts == TREES and outputs:
        figures["corpus_f1"] = bracket_scores(outputs, [one[0] for one in references]).f1
    elif outputs and dataset.medium != SOUND and dataset.texts in ("", SENTENCES):
        figures["corpus_bleu"], figures["corpus_chrf"] = bleu_and_chrf(outputs, references)
    for name in MEASURES:
        values = [row.measures[name] for row in rows.values() if name in row.measures]
        if values:
            figures[name] = float(np.mean(values))
    links = [LinkCounts(*row.links) for row in rows.values() if row.links]
    if links:
        figures["alignment_error"] = sum(links, LinkCounts()).error_rate
    return figures
