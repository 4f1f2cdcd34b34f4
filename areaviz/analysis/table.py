"""The rows of one or two models as one table, and what they say of the whole set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add

import numpy as np
import pandas as pd

from areaviz.analysis.measures import MEASURES
from areaviz.analysis.rows import Row
from areaviz.data.examples import Dataset
from areaviz.metrics.aer import LinkCounts
from areaviz.metrics.captions import caption_words, cider_d
from areaviz.metrics.translation import bleu_and_chrf

Rows = Mapping[int, Row]
CIDER = "cider_d"


def table_of(dataset: Dataset, runs: Sequence[Rows]) -> pd.DataFrame:
    """One line an example that every run has a row of, indexed by its place in the set.

    Columns: name, text, picture, reference (the first); output_R and error_R for each run R from 0,
    and MEASURE_R; with two runs also MEASURE_change, the second less the first. Measures nobody has
    are left out.
    """
    indices = sorted(set.intersection(*(set(rows) for rows in runs)))
    chosen = [dataset.examples[index] for index in indices]
    columns: dict[str, list[object] | np.ndarray[tuple[int], np.dtype[np.float64]]] = {
        "name": [one.name for one in chosen],
        "text": [one.text for one in chosen],
        "picture": [one.picture for one in chosen],
        "reference": [one.references[0] if one.references else "" for one in chosen],
    }
    values = [_values(dataset, rows, indices) for rows in runs]
    for run, rows in enumerate(runs):
        columns[f"output_{run}"] = [rows[index].output for index in indices]
        columns[f"error_{run}"] = [rows[index].error for index in indices]
    for name in (*MEASURES, CIDER):
        taken = [one[name] for one in values if name in one]
        if len(taken) < len(runs):
            continue
        columns |= {f"{name}_{run}": column for run, column in enumerate(taken)}
        if len(taken) == 2:
            columns[f"{name}_change"] = taken[1] - taken[0]
    return pd.DataFrame(columns, index=pd.Index(indices, name="index"))


def _values(
    dataset: Dataset, rows: Rows, indices: Sequence[int]
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Every measure any row has, NaN where one has it not; CIDEr-D where pictures are described."""
    found = {
        name: np.array([rows[index].measures.get(name, np.nan) for index in indices])
        for name in MEASURES
        if any(name in rows[index].measures for index in indices)
    }
    described = [
        index for index in indices if not rows[index].error and dataset.examples[index].references
    ]
    if described and all(
        dataset.examples[index].picture and not dataset.examples[index].text for index in described
    ):
        made = [caption_words(rows[index].output) for index in described]
        wanted = [
            [caption_words(one) for one in dataset.examples[index].references]
            for index in described
        ]
        scores = dict(zip(described, cider_d(made, wanted), strict=True))
        found[CIDER] = np.array([scores.get(index, np.nan) for index in indices])
    return found


def summary(dataset: Dataset, rows: Rows) -> Mapping[str, float]:
    """Figures of the whole set, in the order shown: how many, corpus scores, alignment error, means
    of measures.

    corpus_bleu, corpus_chrf: of all examples with a reference, first references only.
    alignment_error: of all links together, not the mean over examples.
    """
    figures: dict[str, float] = {
        "examples": len(rows),
        "failed": sum(bool(row.error) for row in rows.values()),
    }
    scored = [
        index for index, row in rows.items() if not row.error and dataset.examples[index].references
    ]
    if scored:
        outputs = [rows[index].output for index in scored]
        bleu, chrf = bleu_and_chrf(
            outputs, [dataset.examples[index].references[0] for index in scored]
        )
        figures |= {"corpus_bleu": bleu, "corpus_chrf": chrf}
    linked = [LinkCounts(*row.links) for row in rows.values() if row.links is not None]
    for name in MEASURES:
        values = [row.measures[name] for row in rows.values() if name in row.measures]
        if values:
            figures[name] = float(np.mean(values))
    if linked:
        figures["alignment_error"] = reduce(add, linked).error_rate
    return figures
