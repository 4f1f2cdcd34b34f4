"""Results of human ratings: scores per example, errors by kind, and agreement of raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.analysis.table import JUDGED, MQM, Rows
from areaviz.metrics.agreement import compute_krippendorff_alpha
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.error_spans import OUTPUT, Judgement


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the raters on one question."""

    # Names the question, for display.
    about: str
    # Krippendorff's alpha. NaN if it cannot be computed.
    alpha: float
    # Number of raters, and number of outputs or characters with at least two ratings.
    raters: int
    units: int


def group_by_example(
    judgements: Iterable[Judgement], model: str, rows: Rows
) -> dict[int, list[Judgement]]:
    """Return the ratings of a system's present outputs, by index of the example.

    Ratings of outputs that have changed since are left out.
    """
    found: dict[int, list[Judgement]] = defaultdict(list)
    for one in judgements:
        row = rows.get(one.example)
        if one.counts and one.model == model and row is not None and row.output == one.output:
            found[one.example].append(one)
    return found


def average_ratings(
    judged: Mapping[int, Sequence[Judgement]], count: int
) -> dict[str, Sequence[float]]:
    """Return the MQM error cost and the score from 0 to 100 of each example, averaged over raters.

    Args:
        judged: the ratings of one system, by index of the example.
        count: the number of examples in the dataset.

    Returns:
        Values by the name of the metric, NaN for unrated examples, or {} if there are no ratings.
    """
    mqm, scores = np.full(count, np.nan), np.full(count, np.nan)
    for place, some in judged.items():
        mqm[place] = np.mean([one.mqm for one in some])
        given = [one.score for one in some if one.score is not None]
        if given:
            scores[place] = np.mean(given)
    found = {MQM: mqm, JUDGED: scores}
    return {name: values.tolist() for name, values in found.items() if np.isfinite(values).any()}


def count_error_kinds(
    judged: Sequence[Mapping[int, Sequence[Judgement]]],
) -> list[tuple[str, str, tuple[int, ...]]]:
    """Count the marked errors of each category and severity, the most frequent first.

    Args:
        judged: the ratings of each system, by index of the example.

    Returns:
        Category, severity, and the number of errors of each system.
    """
    counts: dict[tuple[str, str], list[int]] = {}
    for system, by_place in enumerate(judged):
        for some in by_place.values():
            for span in (span for one in some for span in one.spans):
                kind = span.category or "no category", span.severity
                counts.setdefault(kind, [0] * len(judged))[system] += 1
    ordered = sorted(counts.items(), key=lambda one: (-sum(one[1]), one[0]))
    return [(*kind, tuple(number)) for kind, number in ordered]


def compute_agreement(judgements: Iterable[Judgement]) -> list[Agreement]:
    """Compute the agreement of raters on every question that two of them answered for an output.

    Scores and MQM costs are compared as numbers. Positions and severities of errors are compared
    as the severity of every character of the output, on the ordinal scale from none to critical.
    """
    by_output: dict[tuple[object, ...], list[Judgement]] = defaultdict(list)
    for one in judgements:
        if one.counts:
            by_output[one.dataset, one.example, one.model, one.output].append(one)
    shared = [some for some in by_output.values() if len({one.rater for one in some}) > 1]
    raters = sorted({one.rater for some in shared for one in some})
    if not shared:
        return []
    scores_RU = _tabulate_values(raters, shared, lambda one: one.score)
    mqm_RU = _tabulate_values(raters, shared, lambda one: one.mqm)
    severities_RC = np.concatenate(
        [_find_character_severities(raters, some) for some in shared], axis=1
    )
    found = []
    for about, ratings, level in (
        ("Score, 0 to 100", scores_RU, "interval"),
        ("Cost by MQM", mqm_RU, "interval"),
        ("Severity of each character", severities_RC, "ordinal"),
    ):
        units = int((np.isfinite(ratings).sum(0) > 1).sum())
        if units:
            alpha = compute_krippendorff_alpha(ratings, level)
            found.append(Agreement(about, alpha, len(raters), units))
    return found


def _tabulate_values(
    raters: Sequence[str],
    shared: Sequence[Sequence[Judgement]],
    value: Callable[[Judgement], float | None],
) -> npt.NDArray[np.float64]:
    """Return the value of each rater for each output, NaN if the rater gave none."""
    found_RU = np.full((len(raters), len(shared)), np.nan)
    for unit, some in enumerate(shared):
        for one in some:
            found = value(one)
            found_RU[raters.index(one.rater), unit] = np.nan if found is None else found
    return found_RU


def _find_character_severities(
    raters: Sequence[str], some: Sequence[Judgement]
) -> npt.NDArray[np.float64]:
    """Return the worst severity that each rater marked at each character, 0 if none."""
    found_RC = np.full((len(raters), len(some[0].output)), np.nan)
    for one in some:
        row_C = found_RC[raters.index(one.rater)]
        row_C[:] = 0
        for span in one.spans:
            if span.side == OUTPUT:
                part_C = row_C[span.start : span.end]
                np.maximum(part_C, 1 + SEVERITIES.index(span.severity), out=part_C)
    return found_RC
