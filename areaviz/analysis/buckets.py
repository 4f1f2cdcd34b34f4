"""Scores by bucket: of examples that are equally long, hard or rare, as in compare-mt.

What is good on the whole may be bad for long or rare things (Neubig et al. 2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.metrics.translation import bleu_and_chrf

BEYOND = np.inf
_PUNCTUATION = ".,;:!?\"'()[]„“”‚‘’«»…"
# Edges of the buckets of words, by how often the references have a word.
FREQUENCIES = (1, 2, 3, 5, 10, 20, 50, 100, 1000, BEYOND)


@dataclass(frozen=True, slots=True)
class Bucketing:
    """A way to sort examples into buckets."""

    title: str
    # What the number that sorts them is, for people.
    about: str
    # A bucket goes from one edge up to below the next.
    edges: tuple[float, ...]
    # The number of each example of a table.
    number: Callable[[pd.DataFrame], pd.Series]


def bucket_table(
    table: pd.DataFrame,
    name: str,
    measure: str,
    runs: int,
) -> pd.DataFrame:
    """A line for each bucket of `BUCKETINGS[name]` that has examples, in rising order.

    Columns: bucket, examples, places (theirs in the set); for each run R corpus_bleu_R and
    corpus_chrf_R, of the bucket's examples as one corpus (first references; NaN without any), and
    mean_R, the mean of the measure.
    """
    how = BUCKETINGS[name]
    buckets = pd.cut(
        how.number(table),
        how.edges,
        right=False,
        labels=_names(how.edges),
    )
    rows = []
    for bucket, part in table.groupby(buckets, observed=True):
        scores = _scores(part, measure, runs)
        about = {"bucket": str(bucket), "examples": len(part), "places": tuple(part.index)}
        rows.append({**about, **scores})
    return pd.DataFrame(rows)


def word_table(table: pd.DataFrame, runs: int) -> pd.DataFrame:
    """How well rare and frequent words are written: a line for each bucket of frequency.

    Columns: bucket, words (of the references), places (of the examples whose reference has such a
    word); for each run R f1_R, in 0..1, of the words of such a frequency: 2 * matched / (written +
    wanted), where words are matched sentence by sentence, each as often as output and reference
    both have it.
    """
    wanted = [Counter(words_of(text)) for text in table["reference"]]
    frequency = _sum(wanted)
    wanted_B = _by_frequency(frequency, frequency)
    has_words = wanted_B > 0
    buckets = np.array(_names(FREQUENCIES))[has_words]
    places = _places(table.index, wanted, frequency)
    columns: dict[str, object] = {"bucket": buckets, "words": wanted_B[has_words]}
    columns["places"] = [places[bucket] for bucket in np.flatnonzero(has_words).tolist()]
    for run in range(runs):
        written = [Counter(words_of(text)) for text in table[f"output_{run}"]]
        matched = [one & other for one, other in zip(written, wanted, strict=True)]
        matched_B = _by_frequency(_sum(matched), frequency)
        written_B = _by_frequency(_sum(written), frequency)
        columns[f"f1_{run}"] = 2 * matched_B[has_words] / (written_B + wanted_B)[has_words]
    return pd.DataFrame(columns)


def words_of(text: str) -> list[str]:
    """Words in lower case without punctuation at their ends."""
    words = [part.strip(_PUNCTUATION) for part in text.lower().split()]
    return [word for word in words if word]


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return total


def _by_frequency(counts: Counter[str], frequency: Counter[str]) -> npt.NDArray[np.int64]:
    """How many words fall into each bucket; words that no reference has count as the rarest."""
    most = len(FREQUENCIES) - 1
    buckets = _buckets(counts, frequency)
    return np.bincount(buckets, list(counts.values()), most).astype(np.int64)


def _buckets(words: Iterable[str], frequency: Counter[str]) -> npt.NDArray[np.int64]:
    """The number of each word's bucket."""
    frequencies = [max(frequency[word], 1) for word in words]
    return (np.searchsorted(FREQUENCIES, frequencies, "right") - 1).astype(np.int64)


def _places(
    index: pd.Index, wanted: Sequence[Counter[str]], frequency: Counter[str]
) -> list[tuple[int, ...]]:
    """For each bucket of words the places of the examples whose reference has one of them."""
    found: list[list[int]] = [[] for _ in FREQUENCIES[:-1]]
    for place, words in zip(index, wanted, strict=True):
        for bucket in set(_buckets(words, frequency).tolist()):
            found[bucket].append(int(place))
    return [tuple(places) for places in found]


def _scores(part: pd.DataFrame, measure: str, runs: int) -> Mapping[str, float]:
    found: dict[str, float] = {}
    known = part[part["reference"] != ""]
    references = list(known["reference"])
    for run in range(runs):
        scores = (np.nan, np.nan)
        if references:
            scores = bleu_and_chrf(list(known[f"output_{run}"]), references)
        found[f"corpus_bleu_{run}"], found[f"corpus_chrf_{run}"] = scores
        found[f"mean_{run}"] = float(part[f"{measure}_{run}"].mean())
    return found


def _names(edges: Sequence[float]) -> list[str]:
    """What buckets are called: "5", "6–8", "60+"."""
    names = []
    for low, high in pairwise(edges):
        if high == BEYOND:
            names.append(f"{low:,}+")
        elif high == low + 1:
            names.append(f"{low}")
        else:
            names.append(f"{low:,}–{high - 1:,}")
    return names


def _references(table: pd.DataFrame) -> pd.Series:
    """The reference of each example, or its text where it has none."""
    return table["reference"].where(table["reference"] != "", table["text"])


def _length(table: pd.DataFrame) -> pd.Series:
    return _references(table).str.split().map(len)


def _rarest(table: pd.DataFrame) -> pd.Series:
    words = _references(table).map(words_of)
    frequency = _sum(map(Counter, words))
    return words.map(lambda words: min((frequency[word] for word in words), default=0))


def _score(table: pd.DataFrame) -> pd.Series:
    return table.get("chrf_0", pd.Series(np.nan, table.index)).clip(0, 100)


BUCKETINGS: Mapping[str, Bucketing] = {
    "length": Bucketing(
        "Length", "words of the reference", (1, 6, 9, 12, 15, 20, 30, 40, 60, BEYOND), _length
    ),
    "score": Bucketing(
        "Score", "chrF of the first model's output", (0, 20, 40, 50, 60, 70, 80, 90, 101), _score
    ),
    "rarest": Bucketing(
        "Rarest word",
        "how often its rarest word is in all references",
        (1, 2, 3, 5, 10, 20, BEYOND),
        _rarest,
    ),
}
