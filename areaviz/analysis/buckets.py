"""Scores by bucket: examples grouped by length, difficulty or word frequency, as in compare-mt.

A system that is good on average may be bad on long or rare inputs (Neubig et al. 2019).
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.analysis.bucket_names import BEYOND, name_buckets
from areaviz.analysis.table import list_references
from areaviz.data.metadata import list_categories
from areaviz.measures.references import compute_bleu_and_chrf
from areaviz.samples.dataset import Files
from areaviz.trace.errors import InputError, shorten

# Number of buckets when examples are grouped by the values of a metric.
PARTS = 5
# A numeric metadata column with at most 12 distinct values, such as years, gets one bucket per
# value.
MAX_NUMBERS = 12
MAX_CORPUS_MEGABYTES = 500
_PUNCTUATION = ".,;:!?\"'()[]„“”‚‘’«»…"
# Edges of the buckets of word frequencies, which are counted in the references or in a corpus. A
# corpus may lack a word of the references, so its edges start at 0.
FREQUENCIES = (1, 2, 3, 5, 10, 20, 50, 100, 1000, BEYOND)
CORPUS_FREQUENCIES = (0, 1, 2, 5, 10, 100, 1000, 10_000, BEYOND)
# Number of occurrences of each lower-cased word.
Frequency = Counter[str]


@dataclass(frozen=True, slots=True)
class Bucketing:
    """A rule that sorts examples into buckets."""

    title: str
    # Describes the number that sorts the examples, for display.
    about: str
    # Each bucket includes its lower edge and excludes its upper edge.
    edges: tuple[float, ...]
    # Function that returns the number of each example of a table, by which examples are sorted.
    number: Callable[[pd.DataFrame], pd.Series]
    # Names of the buckets. () makes the names from the edges.
    names: tuple[str, ...] = ()

    @property
    def caption(self) -> str:
        """The title for use within a sentence.

        Titles of metrics and metadata columns keep their capitals.
        """
        return self.title if self.title == self.about else self.title.lower()


def sort_into(table: pd.DataFrame, how: Bucketing) -> pd.Series:
    """Return the bucket name of each example, NaN for an example without a number."""
    names = how.names or name_buckets(how.edges)
    return pd.cut(how.number(table), how.edges, right=False, labels=names)


def bucket_table(
    table: pd.DataFrame,
    how: Bucketing,
    measure: str,
    runs: int,
) -> pd.DataFrame:
    """Return a table with one row per bucket that contains examples, in rising order.

    The columns are bucket, examples (the number of examples) and places (the indices of the
    examples in the dataset). For each run R, corpus_bleu_R and corpus_chrf_R score the bucket as
    one corpus against all references. They are NaN if there are no references. The column mean_R is
    the mean of the metric.

    Args:
        table: the examples, as `build_table` returns them.
        how: sorts the examples into buckets.
        measure: the name of the metric.
        runs: the number of runs in the table.
    """
    rows = []
    for bucket, part in table.groupby(sort_into(table, how), observed=True):
        scores = _score_runs(part, measure, runs)
        about = {"bucket": str(bucket), "examples": len(part), "places": tuple(part.index)}
        rows.append({**about, **scores})
    return pd.DataFrame(rows)


def build_word_table(
    table: pd.DataFrame, runs: int, corpus: Frequency | None = None
) -> pd.DataFrame:
    """Return how well runs produce words of different frequencies, one row per bucket.

    The columns are bucket, words (the number of words in the references) and places (indices of the
    examples whose reference contains such a word). For each run R, f1_R is 2 * matched / (written +
    wanted), 0 to 1. A word is matched within its example, as often as both the output and the
    reference contain it.

    Args:
        table: the examples, as `build_table` returns them.
        runs: the number of runs in the table.
        corpus: word frequencies. None counts words in the references.
    """
    wanted = [Counter(split_into_words(text)) for text in table["reference"]]
    there = _add_counts(wanted)
    frequency = there if corpus is None else corpus
    edges = FREQUENCIES if corpus is None else CORPUS_FREQUENCIES
    wanted_B = _count_words_by_bucket(there, frequency, edges)
    has_words = wanted_B > 0
    buckets = np.array(name_buckets(edges))[has_words]
    places = _find_examples_of_buckets(table.index, wanted, frequency, edges)
    columns: dict[str, object] = {"bucket": buckets, "words": wanted_B[has_words]}
    columns["places"] = [places[bucket] for bucket in np.flatnonzero(has_words).tolist()]
    for run in range(runs):
        written = [Counter(split_into_words(text)) for text in table[f"output_{run}"]]
        matched = [one & other for one, other in zip(written, wanted, strict=True)]
        matched_B = _count_words_by_bucket(_add_counts(matched), frequency, edges)
        written_B = _count_words_by_bucket(_add_counts(written), frequency, edges)
        columns[f"f1_{run}"] = 2 * matched_B[has_words] / (written_B + wanted_B)[has_words]
    return pd.DataFrame(columns)


def bucket_by_values(table: pd.DataFrame, column: str, title: str) -> Bucketing | None:
    """Return buckets of about equal size by the values of a column.

    Args:
        table: the examples.
        column: the column of a metric.
        title: the displayed title of the metric.

    Returns:
        The buckets, or None if all values are equal.
    """
    values = table[column].dropna()
    edges = np.unique(values.quantile(np.linspace(0, 1, PARTS + 1)).round(6)) if len(values) else ()
    if len(edges) < 2:
        return None
    # The last bucket includes the largest value.
    inner = tuple(float(edge) for edge in edges[1:-1])
    return Bucketing(title, title, (-BEYOND, *inner, BEYOND), lambda some: some[column])


def bucket_by_metadata(table: pd.DataFrame, column: str, title: str) -> Bucketing | None:
    """Return buckets by a metadata column: one per category, or ranges of numbers.

    Args:
        table: the examples.
        column: the metadata column.
        title: the displayed name of the column.

    Returns:
        The buckets, or None if the column has only one value or contains free text.
    """
    values = table[column]
    found: list[Any]
    if not pd.api.types.is_numeric_dtype(values):
        found = list(list_categories(tuple(values)))
    else:
        found = sorted(values.dropna().unique().tolist())
        if len(found) > MAX_NUMBERS:
            return bucket_by_values(table, column, title)
    if len(found) < 2:
        return None
    names = tuple(one if isinstance(one, str) else f"{one:.15g}" for one in found)
    places = {one: place for place, one in enumerate(found)}
    edges = tuple(float(place) for place in range(len(names) + 1))

    def number(some: pd.DataFrame) -> pd.Series:
        return some[column].map(places).astype(float)

    return Bucketing(title, title, edges, number, names)


def split_into_words(text: str) -> list[str]:
    """Split a text into lower-cased words without punctuation at their ends."""
    words = [part.strip(_PUNCTUATION) for part in text.lower().split()]
    return [word for word in words if word]


def _add_counts(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def _count_words_by_bucket(
    counts: Frequency, frequency: Frequency, edges: Sequence[float]
) -> npt.NDArray[np.int64]:
    """Count the words of each bucket. Words without a frequency belong to the rarest bucket."""
    most = len(edges) - 1
    buckets = _find_frequency_buckets(counts, frequency, edges)
    return np.bincount(buckets, list(counts.values()), most).astype(np.int64)


def _find_frequency_buckets(
    words: Iterable[str], frequency: Frequency, edges: Sequence[float]
) -> npt.NDArray[np.int64]:
    """Return the bucket number of each word."""
    frequencies = [max(frequency[word], edges[0]) for word in words]
    return (np.searchsorted(edges, frequencies, "right") - 1).astype(np.int64)


def _find_examples_of_buckets(
    index: pd.Index, wanted: Sequence[Frequency], frequency: Frequency, edges: Sequence[float]
) -> list[tuple[int, ...]]:
    """Return for each bucket the examples whose reference contains one of its words."""
    found: list[list[int]] = [[] for _ in edges[:-1]]
    for place, words in zip(index, wanted, strict=True):
        for bucket in set(_find_frequency_buckets(words, frequency, edges).tolist()):
            found[bucket].append(int(place))
    return [tuple(places) for places in found]


def _score_runs(part: pd.DataFrame, measure: str, runs: int) -> Mapping[str, float]:
    found: dict[str, float] = {}
    known = part[part["reference"] != ""]
    references = list_references(known)
    for run in range(runs):
        scores = (np.nan, np.nan)
        if references:
            scores = compute_bleu_and_chrf(list(known[f"output_{run}"]), references)
        found[f"corpus_bleu_{run}"], found[f"corpus_chrf_{run}"] = scores
        found[f"mean_{run}"] = float(part[f"{measure}_{run}"].mean())
    return found


def _get_references(table: pd.DataFrame) -> pd.Series:
    """Return the reference of each example, or its input text if it has no reference."""
    return table["reference"].where(table["reference"] != "", table["text"])


def _measure_length(table: pd.DataFrame) -> pd.Series:
    return _get_references(table).str.split().map(len)


def _find_rarest_word_frequency(table: pd.DataFrame, corpus: Frequency | None = None) -> pd.Series:
    words = _get_references(table).map(split_into_words)
    frequency = _add_counts(map(Counter, words)) if corpus is None else corpus
    return words.map(lambda words: min((frequency[word] for word in words), default=0))


def _get_score(table: pd.DataFrame) -> pd.Series:
    return table.get("chrf_0", pd.Series(np.nan, table.index)).clip(0, 100)


BUCKETINGS: Mapping[str, Bucketing] = {
    "length": Bucketing(
        "Length",
        "words of the reference",
        (1, 6, 9, 12, 15, 20, 30, 40, 60, BEYOND),
        _measure_length,
    ),
    "score": Bucketing(
        "Score",
        "chrF of the first model's output",
        (0, 20, 40, 50, 60, 70, 80, 90, 101),
        _get_score,
    ),
    "rarest": Bucketing(
        "Rarest word",
        "occurrences of the rarest word in all references",
        (1, 2, 3, 5, 10, 20, BEYOND),
        _find_rarest_word_frequency,
    ),
}


def list_bucketings(corpus: Frequency | None = None) -> Mapping[str, Bucketing]:
    """Return `BUCKETINGS`. If a corpus is given, the rarest word is counted in it."""
    if corpus is None:
        return BUCKETINGS
    about = "occurrences of the rarest word in the corpus"
    number = partial(_find_rarest_word_frequency, corpus=corpus)
    return {**BUCKETINGS, "rarest": Bucketing("Rarest word", about, CORPUS_FREQUENCIES, number)}


def read_corpus(name: str, files: Files) -> Frequency:
    """Count the words of a text file of any length, such as a model's training corpus.

    Raises:
        InputError: the file is too large or is not UTF-8.
    """
    content = files[name]
    size = content.stat().st_size if isinstance(content, Path) else len(content)
    if size > MAX_CORPUS_MEGABYTES << 20:
        raise InputError(
            f'"{shorten(name)}" has {size >> 20:,} MB, but the limit is {MAX_CORPUS_MEGABYTES}'
            " for a corpus. Use a part of the file."
        )
    found: Frequency = Counter()
    with content.open("rb") if isinstance(content, Path) else io.BytesIO(content) as file:
        for number, line in enumerate(file, 1):
            try:
                found.update(split_into_words(line.decode("utf-8")))
            except UnicodeDecodeError as error:
                raise InputError(
                    f'Line {number:,} of "{shorten(name)}" is not a UTF-8 text. Save the file'
                    " as UTF-8."
                ) from error
    return found
