"""What one model writes better than another: n-grams, and whether a difference could be chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.analysis.buckets import words_of
from areaviz.metrics.translation import Comparison, compare

RESAMPLES, SEED = 1000, 1


@dataclass(frozen=True, slots=True)
class Gram:
    """Words in a row that references have: how often each of two models wrote them where they
    belong.

    lean: log odds of the second model having it right where one has, smoothed: log((second + 1) /
    (first + 1)).
    examples: places in the set of examples that one of them has right and the other has not.
    """

    text: str
    first: int
    second: int
    lean: float
    examples: tuple[int, ...]


def grams(table: pd.DataFrame, size: int, most: int = 20) -> tuple[list[Gram], list[Gram]]:
    """The n-grams of `size` words that the first model has right more often, and those of the
    second, most one-sided first; each matched as often as output and reference both have it.
    """
    right: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    places: dict[str, list[int]] = {}
    columns = zip(
        table.index, table["reference"], table["output_0"], table["output_1"], strict=True
    )
    for index, reference, *outputs in columns:
        wanted = _counted(str(reference), size)
        first, second = (_counted(str(output), size) & wanted for output in outputs)
        right[0].update(first)
        right[1].update(second)
        for gram in first.keys() | second.keys():
            if first[gram] != second[gram]:
                places.setdefault(gram, []).append(int(index))
    found = [
        Gram(
            text,
            right[0][text],
            right[1][text],
            _lean(right[0][text], right[1][text]),
            tuple(where),
        )
        for text, where in places.items()
    ]
    found.sort(key=lambda gram: (-abs(gram.lean), -gram.first - gram.second, gram.text))
    return [one for one in found if one.lean < 0][:most], [one for one in found if one.lean > 0][
        :most
    ]


def wins(change: npt.NDArray[np.floating], better: str) -> tuple[int, int, int]:
    """In how many examples the second model is better, as good, and worse; NaN is left out. better:
    "high" or "low".
    """
    known = change[np.isfinite(change)] * (-1 if better == "low" else 1)
    return int((known > 0).sum()), int((known == 0).sum()), int((known < 0).sum())


def mean_change(
    change: npt.NDArray[np.floating], resamples: int = RESAMPLES
) -> tuple[float, float, float]:
    """The mean of a measure's changes and its 95 % interval by the bootstrap over examples (Efron
    1979), seed 1.

    NaN is left out; all NaN where nothing is left.
    """
    known = np.sort(
        change[np.isfinite(change)]
    )  # so that the order of the examples changes nothing
    if not len(known):
        return np.nan, np.nan, np.nan
    rng = np.random.default_rng(SEED)
    means = [rng.choice(known, len(known)).mean() for _ in range(resamples)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(known.mean()), float(low), float(high)


def corpus_change(table: pd.DataFrame) -> Mapping[str, Comparison]:
    """BLEU and chrF of both models on the examples with a reference, by paired bootstrap; empty
    without any.
    """
    known = table[table["reference"] != ""]
    if known.empty:
        return {}
    return compare(
        list(known["output_1"]), list(known["output_0"]), list(known["reference"]), RESAMPLES
    )


def _counted(text: str, size: int) -> Counter[str]:
    words: Sequence[str] = words_of(text)
    return Counter(" ".join(words[i : i + size]) for i in range(len(words) - size + 1))


def _lean(first: int, second: int) -> float:
    return float(np.log((second + 1) / (first + 1)))
