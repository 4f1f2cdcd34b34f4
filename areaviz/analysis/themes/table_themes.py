"""Conversion of an analysis' table to the material in which themes are searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from areaviz.analysis.table import CIDER, JUDGED, MQM, list_measures
from areaviz.analysis.themes.find import find_themes
from areaviz.analysis.themes.material import FloatArray, Material, Score, Written
from areaviz.analysis.themes.theme import Themes
from areaviz.samples.dataset import Dataset

# Metrics that a model computes without the right answer. They show when it fails, but not how.
OF_THE_MODEL = (
    *("confidence", "coverage_deviation", "absentmindedness", "source_absentmindedness"),
    *("entropy", "area_size", "dependence", "dependence_share", "purity"),
)
# Metrics that repeat chrF or the symptoms of length, and metrics of the quality of attention.
LEFT_OUT_METRICS = (
    *("bleu", "rouge_l", CIDER, "length", "length_ratio"),
    *("pointing", "alignment_error", "facts_read"),
)
# Metrics from raters are used if at least this share of the examples is rated. A few ratings say
# nothing about kinds of examples.
RATERS, RATED = (MQM, JUDGED), 0.5
# Names of metadata columns that contain the document of an example.
DOCUMENT_COLUMNS = ("document", "doc", "doc_id", "docid", "document_id")


def find_themes_of_table(dataset: Dataset, frame: pd.DataFrame, systems: int) -> tuple[Themes, ...]:
    """Return the themes of two compared systems, or of each system if there are not exactly two.

    Args:
        dataset: the dataset.
        frame: the table of its analysis.
        systems: the number of systems in the table.

    Raises:
        InputError: there are too few or too many examples, or they cannot be split into halves.
    """
    if systems == 2:
        return find_themes(collect_material(dataset, frame, (0, 1)))
    found = []
    for system in range(systems):
        (themes,) = find_themes(collect_material(dataset, frame, (system,)))
        found.append(replace(themes, worse=system))
    return tuple(found)


def collect_material(dataset: Dataset, frame: pd.DataFrame, systems: Sequence[int]) -> Material:
    """Return the material of one system, or of two systems to compare.

    Examples that a system could not run are left out.

    Args:
        dataset: the dataset.
        frame: the table of its analysis, as `build_table` and `with_scores` return it.
        systems: the numbers of the systems in the table, from 0.
    """
    was_run = pd.Series(True, frame.index)
    for system in systems:
        was_run &= frame[f"error_{system}"] == ""
    frame = frame[was_run]
    places = tuple(int(place) for place in frame.index)
    examples = [dataset.examples[place] for place in places]
    metadata = {
        name: tuple(values[place] for place in places) for name, values in dataset.metadata.items()
    }
    documents = next((name for name in metadata if name.lower() in DOCUMENT_COLUMNS), "")
    return Material(
        places,
        tuple(one.text for one in examples),
        tuple(one.references for one in examples),
        tuple(one.file for one in examples),
        tuple(_collect_outputs(frame, system) for system in systems),
        {name: cells for name, cells in metadata.items() if name != documents},
        metadata.get(documents, ()),
    )


def _collect_outputs(frame: pd.DataFrame, system: int) -> Written:
    """Return the outputs of one system, their scores and the metrics of the model."""
    scores = []
    measures: Mapping[str, FloatArray] = {}
    for name, measure in list_measures(frame).items():
        values = frame[f"{name}_{system}"].to_numpy(float)
        if name in RATERS and np.isfinite(values).mean() < RATED:
            continue
        if name in OF_THE_MODEL:
            measures = {**measures, measure.title: values}
        elif measure.better and name not in LEFT_OUT_METRICS:
            scores.append(Score(measure.title, values, measure.better))
    return Written(tuple(frame[f"output_{system}"]), tuple(scores), measures)
