"""What one model writes better than another: n-grams, and whether a difference could be chance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.analysis.buckets import words_of
from areaviz.analysis.table import references_of
from areaviz.metrics.translation import Comparison, compare

RESAMPLES, SEED = 1000, 1
# A measure's change in each example: the second model's less the first's.
Changes = npt.NDArray[np.floating]
# The share of all outputs that fail, by definition.
FAILING = 0.25
# N-grams on a side.
MAX_GRAMS = 12


@dataclass(frozen=True, slots=True)
class Gram:
    """Words in a row that references have; how often two models wrote them where they belong."""

    text: str
    first: int
    second: int
    # Places in the set of examples that one model has right more often than the other.
    examples: tuple[int, ...]

    @property
    def lean(self) -> float:
        """Log odds of the second model having it right where one has: positive for the second."""
        # One is added to each count, so that a model that never has it right gives no infinity.
        return float(np.log((self.second + 1) / (self.first + 1)))


def grams(table: pd.DataFrame, size: int) -> tuple[list[Gram], list[Gram]]:
    """The n-grams that the first model has right more often, and those of the second.

    The most one-sided come first. An n-gram is matched as often as output and reference both have
    it.

    Args:
        table: of two runs, as `table_of` makes it.
        size: words of an n-gram.
    """
    first_total: Counter[str] = Counter()
    second_total: Counter[str] = Counter()
    places: dict[str, list[int]] = defaultdict(list)
    texts = table[["reference", "output_0", "output_1"]]
    for place, *columns in texts.itertuples():
        wanted, first, second = (_counted(str(text), size) for text in columns)
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


def wins(change: Changes, better: str) -> tuple[int, int, int]:
    """In how many examples the second model is better, as good, and worse.

    Args:
        change: of a measure, the second model's less the first's; NaN is left out.
        better: "high" or "low".
    """
    known = change[np.isfinite(change)]
    if better == "low":
        known = -known
    return int((known > 0).sum()), int((known == 0).sum()), int((known < 0).sum())


def mean_change(change: Changes) -> tuple[float, float, float]:
    """The mean of a measure's changes and the ends of its 95 % interval.

    By the bootstrap over examples (Efron 1979), seed 1. NaN is left out; all three are NaN where
    nothing is left.
    """
    # Sorted, so that the order of the examples changes nothing.
    known = np.sort(change[np.isfinite(change)])
    if not len(known):
        return np.nan, np.nan, np.nan
    rng = np.random.default_rng(SEED)
    means = [rng.choice(known, len(known)).mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(known.mean()), float(low), float(high)


def both_fail(table: pd.DataFrame, measure: str, better: str) -> tuple[tuple[int, ...], float]:
    """Return the examples where all models fail, the worst first, and the limit that was taken.

    A model fails where the measure is among the worst quarter of what all models reach in all
    examples of the table, and not the best there is.

    Args:
        table: of two or more runs.
        measure: its name.
        better: "high" or "low".

    Returns:
        places in the set; the value from which on it is a failure, NaN where nothing is known.
    """
    sign = -1.0 if better == "low" else 1.0
    columns = sign * table[_columns_of(table, measure)]
    known = columns.to_numpy(float)
    known = known[np.isfinite(known)]
    if not len(known):
        return (), np.nan
    limit = float(np.quantile(known, FAILING))
    fails = (columns <= limit).all(axis=1) & (columns < known.max()).all(axis=1)
    worst = columns[fails].sum(axis=1).sort_values(kind="stable")
    return tuple(int(place) for place in worst.index), sign * limit


def _columns_of(table: pd.DataFrame, measure: str) -> list[str]:
    """Return the columns of a measure, one for each run."""
    names: list[str] = []
    while f"{measure}_{len(names)}" in table:
        names.append(f"{measure}_{len(names)}")
    return names


def corpus_change(table: pd.DataFrame) -> Mapping[str, Comparison]:
    """Compare the corpus BLEU and chrF of both models by approximate randomisation.

    All references count. The result is empty if no example has a reference.
    """
    known = table[table["reference"] != ""]
    if known.empty:
        return {}
    second, first = list(known["output_1"]), list(known["output_0"])
    return compare(second, first, references_of(known), RESAMPLES)


def _counted(text: str, size: int) -> Counter[str]:
    words = words_of(text)
    return Counter(" ".join(words[n : n + size]) for n in range(len(words) - size + 1))
