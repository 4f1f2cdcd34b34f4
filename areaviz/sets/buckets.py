"""Groups of examples: buckets, groups by colour, and comparison of two models.

The names of buckets come first, then the scores by bucket, the colours of plots, and the tests
for chance.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.draw.charts import OTHER
from areaviz.measures.references import Comparison, compare_systems, compute_bleu_and_chrf
from areaviz.samples.dataset import Files
from areaviz.sets.roles import list_categories
from areaviz.sets.table import list_metadata_columns, list_references
from areaviz.trace.errors import InputError, shorten

# Names of buckets, made from their edges.


# Edge of a bucket without an upper limit. A bucket without a lower limit has the edge -BEYOND.
BEYOND = np.inf


def name_buckets(edges: Sequence[float]) -> list[str]:
    """Return the names of buckets, such as "5", "6–8" and "60+", or "below 0.5"."""
    if edges[0] != -BEYOND:
        return [_count_name(low, high) for low, high in pairwise(edges)]
    for digits in range(3, 18):
        names = [_name_value_range(low, high, digits) for low, high in pairwise(edges)]
        # Large values that are close together need more digits to differ.
        if len(set(names)) == len(names):
            break
    return names


def _count_name(low: float, high: float) -> str:
    if high == BEYOND:
        return f"{low:,}+"
    return f"{low}" if high == low + 1 else f"{low:,}–{high - 1:,}"


def _name_value_range(low: float, high: float, digits: int) -> str:
    if low == -BEYOND:
        return "all" if high == BEYOND else f"below {high:.{digits}g}"
    return f"{low:.{digits}g}+" if high == BEYOND else f"{low:.{digits}g} to {high:.{digits}g}"


# Scores by bucket: examples grouped by length, difficulty or word frequency, as in compare-mt.
#
# A system that is good on average may be bad on long or rare inputs (Neubig et al. 2019).


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


def bucket_table(table: pd.DataFrame, how: Bucketing, measure: str, runs: int) -> pd.DataFrame:
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


# Groups of examples that a plot distinguishes by colour, by the values of a metadata column.


# Maximum number of groups with their own colour. More colours are hard to tell apart.
MAX_GROUPS = 7
BoolArray = npt.NDArray[np.bool_]


def colour_columns(table: pd.DataFrame) -> dict[str, str]:
    """Return the metadata columns that can be used as groups, with their titles."""
    titles = list_metadata_columns(table)
    return {name: title for name, title in titles.items() if bucket_by_metadata(table, name, title)}


def colour_groups(table: pd.DataFrame, column: str, title: str) -> dict[str, BoolArray]:
    """Return the examples of each group, by the name of the group.

    Args:
        table: the examples.
        column: the metadata column.
        title: the displayed name of the column.

    Returns:
        The `MAX_GROUPS` largest groups in the order of the column's values, then `OTHER` if some
        examples are in none of them. {} if the column has no groups.
    """
    how = bucket_by_metadata(table, column, title)
    if how is None:
        return {}
    names = sort_into(table, how)
    counts = names.value_counts().nlargest(MAX_GROUPS)
    largest = set(counts[counts > 0].index)
    groups = {}
    for name in names.cat.categories:
        if name in largest:
            groups[str(name)] = (names == name).to_numpy(bool)
    rest = ~np.any(list(groups.values()), axis=0)
    return {**groups, OTHER: rest} if rest.any() else groups


# Comparison of two models by n-grams that each writes better, and tests for chance.


RESAMPLES, SEED = 1000, 1
# Change of a metric in each example: the second model's value minus the first model's.
Changes = npt.NDArray[np.floating]
# Share of all outputs that count as failed.
FAILING_SHARE = 0.25
# Largest number of n-grams listed per model.
MAX_GRAMS = 12


@dataclass(frozen=True, slots=True)
class Gram:
    """An n-gram of the references, and how often each of two models matched it."""

    text: str
    first: int
    second: int
    # Indices of the examples in which one model matches the n-gram more often than the other.
    examples: tuple[int, ...]

    @property
    def lean(self) -> float:
        """Log ratio of the second model's matches to the first's.

        Positive values favour the second.
        """
        # Add one to each count, so that a model without any match does not give infinity.
        return float(np.log((self.second + 1) / (self.first + 1)))


def find_distinguishing_ngrams(
    table: pd.DataFrame, size: int, pair: tuple[int, int] = (0, 1)
) -> tuple[list[Gram], list[Gram]]:
    """Return the n-grams that the first model matches more often, and those that the second does.

    The most one-sided n-grams come first. An n-gram is matched as often as both output and
    reference contain it.

    Args:
        table: two or more runs, as `build_table` returns them.
        size: the number of words per n-gram.
        pair: the numbers of the two compared runs.
    """
    first_total: Counter[str] = Counter()
    second_total: Counter[str] = Counter()
    places: dict[str, list[int]] = defaultdict(list)
    texts = table[["reference", *(f"output_{run}" for run in pair)]]
    for place, *columns in texts.itertuples():
        wanted, first, second = (_count_ngrams(str(text), size) for text in columns)
        first, second = first & wanted, second & wanted
        first_total.update(first)
        second_total.update(second)
        for gram in (first - second) | (second - first):
            places[gram].append(int(place))
    found = [
        Gram(text, first_total[text], second_total[text], tuple(where))
        for text, where in places.items()
    ]
    found.sort(key=lambda gram: (-abs(gram.lean), -gram.first - gram.second, gram.text))
    ahead = [gram for gram in found if gram.first > gram.second]
    behind = [gram for gram in found if gram.first < gram.second]
    return ahead[:MAX_GRAMS], behind[:MAX_GRAMS]


def count_wins(change: Changes, better: str) -> tuple[int, int, int]:
    """Count the examples in which the second model is better, equal and worse.

    Args:
        change: change of a metric, second model minus first. NaN is ignored.
        better: "high" or "low".
    """
    known = change[np.isfinite(change)]
    if better == "low":
        known = -known
    return int((known > 0).sum()), int((known == 0).sum()), int((known < 0).sum())


def mean_change(change: Changes) -> tuple[float, float, float]:
    """Return the mean change of a metric, and the lower and upper end of its 95 % interval.

    The interval is the percentile bootstrap over examples (Efron 1979) with seed 1. NaN is ignored.
    All three values are NaN if no change is known.
    """
    # Sort the changes, so that the order of the examples does not affect the interval.
    known = np.sort(change[np.isfinite(change)])
    if not len(known):
        return np.nan, np.nan, np.nan
    rng = np.random.default_rng(SEED)
    means = [rng.choice(known, len(known)).mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(known.mean()), float(low), float(high)


def find_joint_failures(
    table: pd.DataFrame, measure: str, better: str
) -> tuple[tuple[int, ...], float]:
    """Return the examples in which all models fail, the worst first, and the limit of failure.

    A model fails in an example if its value is in the worst quarter of all models' values in the
    table and is not the best value.

    Args:
        table: two or more runs.
        measure: the name of the metric.
        better: "high" or "low".

    Returns:
        Indices of the examples in the dataset, and the value from which an output counts as failed,
        NaN if no value is known.
    """
    sign = -1.0 if better == "low" else 1.0
    columns = sign * table[_list_columns(table, measure)]
    known = columns.to_numpy(float)
    known = known[np.isfinite(known)]
    if not len(known):
        return (), np.nan
    limit = float(np.quantile(known, FAILING_SHARE))
    fails = (columns <= limit).all(axis=1) & (columns < known.max()).all(axis=1)
    worst = columns[fails].sum(axis=1).sort_values(kind="stable")
    return tuple(int(place) for place in worst.index), sign * limit


def _list_columns(table: pd.DataFrame, measure: str) -> list[str]:
    """Return the columns of a measure, one for each run."""
    names: list[str] = []
    while f"{measure}_{len(names)}" in table:
        names.append(f"{measure}_{len(names)}")
    return names


def compare_corpus_scores(
    table: pd.DataFrame, pair: tuple[int, int] = (0, 1)
) -> Mapping[str, Comparison]:
    """Compare the corpus BLEU and chrF of two models by approximate randomisation.

    All references count. The result is empty if no example has a reference.

    Args:
        table: the table of two or more runs, as `build_table` returns it.
        pair: the numbers of the two runs. The second one is compared with the first.
    """
    known = table[table["reference"] != ""]
    if known.empty:
        return {}
    first, second = (list(known[f"output_{run}"]) for run in pair)
    return compare_systems(second, first, list_references(known), RESAMPLES)


def _count_ngrams(text: str, size: int) -> Counter[str]:
    words = split_into_words(text)
    return Counter(" ".join(words[n : n + size]) for n in range(len(words) - size + 1))
