"""Scores of the examples of a bucket: as long as one another, as hard, or with words as rare.

What is good on the whole may be bad for long or rare things; the buckets are those of compare-mt
(Neubig et al. 2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from areaviz.metrics.translation import bleu_and_chrf

BEYOND = np.inf


@dataclass(frozen=True, slots=True)
class Buckets:
    """A way to sort examples. title: for people. about: what the number is. edges: from each, up to
    below the next.

    of: the number of each example of a table.
    """

    title: str
    about: str
    edges: tuple[float, ...]
    of: Callable[[pd.DataFrame], pd.Series]


def bucket_table(table: pd.DataFrame, kind: str, measure: str, runs: int) -> pd.DataFrame:
    """A line a bucket of `KINDS[kind]` that has examples, in rising order.

    Columns: bucket, examples; for each run R corpus_bleu_R and corpus_chrf_R, of the bucket's
    examples as one corpus (first references; NaN without any), and mean_R, the mean of the measure.
    """
    numbers = KINDS[kind].of(table)
    place = pd.cut(numbers, [*KINDS[kind].edges], right=False, labels=_names(KINDS[kind].edges))
    groups = [(str(name), part) for name, part in table.groupby(place, observed=True)]
    rows = [
        {"bucket": name, "examples": len(part), **_scores(part, measure, runs)}
        for name, part in groups
    ]
    return pd.DataFrame(rows)


def word_table(table: pd.DataFrame, runs: int) -> pd.DataFrame:
    """How well words are written that are rare or frequent in the references: a line a bucket of
    frequency.

    Columns: bucket, words (of the references); for each run R f1_R, in 0..1: of the words of such a
    frequency, matched sentence by sentence, each as often as both have it, 2 * matched / (written +
    wanted).
    """
    wanted = [Counter(words_of(text)) for text in table["reference"]]
    often = sum(wanted, Counter[str]())
    edges = FREQUENCIES
    bucket_of = {
        word: int(np.searchsorted(edges, count, "right")) - 1 for word, count in often.items()
    }
    columns: dict[str, Sequence[object]] = {
        "bucket": _names(edges),
        "words": _totals(wanted, bucket_of, edges),
    }
    for run in range(runs):
        written = [Counter(words_of(text)) for text in table[f"output_{run}"]]
        matched = _totals(
            [one & other for one, other in zip(written, wanted, strict=True)], bucket_of, edges
        )
        both = zip(
            matched,
            _totals(written, bucket_of, edges),
            _totals(wanted, bucket_of, edges),
            strict=True,
        )
        columns[f"f1_{run}"] = [2 * m / (w + r) if w + r else float("nan") for m, w, r in both]
    found = pd.DataFrame(columns)
    return found[found["words"] > 0].reset_index(drop=True)


def words_of(text: str) -> list[str]:
    """Words in lower case without marks at their ends."""
    return [word for part in text.lower().split() if (word := part.strip(_MARKS))]


def _totals(
    counts: Sequence[Counter[str]], bucket_of: Mapping[str, int], edges: Sequence[float]
) -> list[int]:
    """How many words of each bucket there are; words that no reference has are in the first, as the
    rarest.
    """
    totals = [0] * (len(edges) - 1)
    for one in counts:
        for word, count in one.items():
            totals[bucket_of.get(word, 0)] += count
    return totals


def _scores(part: pd.DataFrame, measure: str, runs: int) -> Mapping[str, float]:
    found: dict[str, float] = {}
    known = part[part["reference"] != ""]
    for run in range(runs):
        scores = (np.nan, np.nan)
        if len(known):
            scores = bleu_and_chrf(list(known[f"output_{run}"]), list(known["reference"]))
        found[f"corpus_bleu_{run}"], found[f"corpus_chrf_{run}"] = scores
        found[f"mean_{run}"] = float(part[f"{measure}_{run}"].mean())
    return found


def _names(edges: Sequence[float]) -> tuple[str, ...]:
    pairs = [(int(low), high) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    return tuple(
        f"{low:,}+"
        if high == BEYOND
        else str(low)
        if high == low + 1
        else f"{low:,}–{int(high) - 1:,}"
        for low, high in pairs
    )


def _length(table: pd.DataFrame) -> pd.Series:
    chosen = table["reference"].where(table["reference"] != "", table["text"])
    return chosen.map(lambda text: len(text.split()))


def _rarest(table: pd.DataFrame) -> pd.Series:
    chosen = table["reference"].where(table["reference"] != "", table["text"]).map(words_of)
    often = Counter(word for words in chosen for word in words)
    return chosen.map(lambda words: min((often[word] for word in words), default=0))


def _score(table: pd.DataFrame) -> pd.Series:
    return table.get("chrf_0", pd.Series(np.nan, table.index)).clip(0, 100)


_MARKS = ".,;:!?\"'()[]„“”‚‘’«»…"
FREQUENCIES = (1, 2, 3, 5, 10, 20, 50, 100, 1000, BEYOND)
KINDS: Mapping[str, Buckets] = {
    "length": Buckets(
        "Length", "words of the reference", (1, 6, 9, 12, 15, 20, 30, 40, 60, BEYOND), _length
    ),
    "score": Buckets(
        "Score", "chrF of the first model's output", (0, 20, 40, 50, 60, 70, 80, 90, 101), _score
    ),
    "rarest": Buckets(
        "Rarest word",
        "how often its rarest word is in all references",
        (1, 2, 3, 5, 10, 20, BEYOND),
        _rarest,
    ),
}
