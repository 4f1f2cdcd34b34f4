"""Comparison of two models by n-grams that each writes better, and tests for chance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.analysis.buckets import split_into_words
from areaviz.analysis.table import list_references
from areaviz.measures.references import Comparison, compare_systems

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
