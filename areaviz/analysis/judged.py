"""What raters say of systems: scores by example, errors by kind, and how far they agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.analysis.row_lines import Row
from areaviz.analysis.table import JUDGED, MQM
from areaviz.metrics.agreement import krippendorff_alpha
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.error_spans import OUTPUT, Judgement

Rows = Mapping[int, Row]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far raters agree on one thing."""

    # What it is, for people.
    about: str
    # Krippendorff's alpha; NaN where nobody can say.
    alpha: float
    # How many raters there are, and what they rated: outputs or characters with two ratings.
    raters: int
    units: int


def of_outputs(
    judgements: Iterable[Judgement], model: str, rows: Rows
) -> dict[int, list[Judgement]]:
    """The judgements that count of a system's outputs as they are now, by places in the set.

    Those of an output that has become another since are left out.
    """
    found: dict[int, list[Judgement]] = defaultdict(list)
    for one in judgements:
        row = rows.get(one.example)
        if one.counts and one.model == model and row is not None and row.output == one.output:
            found[one.example].append(one)
    return found


def judged_scores(
    judged: Mapping[int, Sequence[Judgement]], count: int
) -> dict[str, Sequence[float]]:
    """What errors cost by MQM and the score from 0 to 100, of each example, the mean of raters.

    Args:
        judged: a system's, by places.
        count: examples of the set.

    Returns:
        by the names of measures, NaN where nobody judged; nothing where nobody judged any.
    """
    mqm, scores = np.full(count, np.nan), np.full(count, np.nan)
    for place, some in judged.items():
        mqm[place] = np.mean([one.mqm for one in some])
        given = [one.score for one in some if one.score is not None]
        if given:
            scores[place] = np.mean(given)
    found = {MQM: mqm, JUDGED: scores}
    return {name: values.tolist() for name, values in found.items() if np.isfinite(values).any()}


def kinds_of_errors(
    judged: Sequence[Mapping[int, Sequence[Judgement]]],
) -> list[tuple[str, str, tuple[int, ...]]]:
    """How often raters marked errors of a category and severity, the most frequent first.

    Args:
        judged: of each system, by places.

    Returns:
        category, severity, and how many errors each system has.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for system, by_place in enumerate(judged):
        for some in by_place.values():
            for span in (span for one in some for span in one.spans):
                kind = span.category or "no category", span.severity
                counts.setdefault(kind, [0] * len(judged))[system] += 1
    ordered = sorted(counts.items(), key=lambda one: (-sum(one[1]), one[0]))
    return [(*kind, tuple(number)) for kind, number in ordered]


def agreement(judgements: Iterable[Judgement]) -> list[Agreement]:
    """How far raters agree, on each thing that two of them said of the same output.

    The score and the cost by MQM as numbers; where errors are and how severe as the severity of
    every character of the output, in order, from none to critical.
    """
    by_output: dict[tuple[object, ...], list[Judgement]] = defaultdict(list)
    for one in judgements:
        if one.counts:
            by_output[one.dataset, one.example, one.model, one.output].append(one)
    shared = [some for some in by_output.values() if len({one.rater for one in some}) > 1]
    raters = sorted({one.rater for some in shared for one in some})
    if not shared:
        return []
    scores_RU = _table(raters, shared, lambda one: one.score)
    mqm_RU = _table(raters, shared, lambda one: one.mqm)
    severities_RC = np.concatenate([_characters(raters, some) for some in shared], axis=1)
    found = []
    for about, ratings, level in (
        ("Score, 0 to 100", scores_RU, "interval"),
        ("Cost by MQM", mqm_RU, "interval"),
        ("Severity of each character", severities_RC, "ordinal"),
    ):
        units = int((np.isfinite(ratings).sum(0) > 1).sum())
        if units:
            alpha = krippendorff_alpha(ratings, level)
            found.append(Agreement(about, alpha, len(raters), units))
    return found


def _table(
    raters: Sequence[str],
    shared: Sequence[Sequence[Judgement]],
    value: Callable[[Judgement], float | None],
) -> npt.NDArray[np.float64]:
    """A value of each rater for each output, NaN for none."""
    found_RU = np.full((len(raters), len(shared)), np.nan)
    for unit, some in enumerate(shared):
        for one in some:
            found = value(one)
            found_RU[raters.index(one.rater), unit] = np.nan if found is None else found
    return found_RU


def _characters(raters: Sequence[str], some: Sequence[Judgement]) -> npt.NDArray[np.float64]:
    """The worst severity that each rater gave each character of an output; 0 for no error."""
    found_RC = np.full((len(raters), len(some[0].output)), np.nan)
    for one in some:
        row_C = found_RC[raters.index(one.rater)]
        row_C[:] = 0
        for span in one.spans:
            if span.side == OUTPUT:
                part_C = row_C[span.start : span.end]
                np.maximum(part_C, 1 + SEVERITIES.index(span.severity), out=part_C)
    return found_RC
