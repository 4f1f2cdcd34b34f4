"""Current ratings of systems: means by example, kinds of errors, and agreement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.sets.notes.notes import ErrorSpan, Judgement
from areaviz.sets.run import Row
from areaviz.sets.table import (
    average_ratings,
    compute_agreement,
    count_error_kinds,
    group_by_example,
)

ROWS = {0: Row(0, "Die Katze."), 1: Row(1, "Ein Hund."), 2: Row(2, "Ja.")}
MAJOR = ErrorSpan("output", 4, 9, None, "Accuracy", "major")
MINOR = ErrorSpan("output", 0, 3, None, "", "minor")
ADA = Judgement("d", 0, "a", "Ada", "The dog.", "Die Katze.", (MAJOR, MINOR), 40.0, id="1")
BO = replace(ADA, rater="Bo", spans=(MAJOR,), score=60.0, id="2")
SECOND = replace(ADA, example=1, output="Ein Hund.", spans=(), score=None, id="3")
ALL = [ADA, BO, SECOND, replace(SECOND, rater="Bo", id="4")]


def test_only_judgements_of_present_outputs_count() -> None:
    old = replace(ADA, example=2, output="Nein.")
    others = [old, replace(ADA, model="b"), replace(ADA, rater=""), replace(ADA, differs="1")]
    found = group_by_example([*ALL, *others, replace(ADA, example=9)], "a", ROWS)
    assert {place: len(some) for place, some in found.items()} == {0: 2, 1: 2}


def test_example_score_is_mean_of_raters() -> None:
    found = average_ratings(group_by_example(ALL, "a", ROWS), 3)
    np.testing.assert_array_equal(found["mqm"], [5.5, 0, np.nan])
    np.testing.assert_array_equal(found["judged"], [50, np.nan, np.nan])
    assert average_ratings({}, 3) == {}
    assert [*average_ratings({1: [SECOND]}, 3)] == ["mqm"]


def test_errors_are_counted_by_kind() -> None:
    found = count_error_kinds([group_by_example(ALL, "a", ROWS), {}])
    assert found == [("Accuracy", "major", (2, 0)), ("no category", "minor", (1, 0))]


def test_agreement_uses_examples_with_two_raters() -> None:
    # Cy shares no output with anybody, so Cy is not one of the raters who can agree.
    alone = replace(ADA, example=2, rater="Cy", id="5")
    scores, costs, characters = compute_agreement([*ALL, alone])
    assert (scores.raters, scores.units, costs.units, characters.units) == (2, 1, 2, 19)
    # One unit is rated 40 and 60; this difference is what chance predicts.
    assert scores.alpha == pytest.approx(0)
    assert 0 < costs.alpha < 1 and 0 < characters.alpha < 1
    same = [ADA, replace(ADA, rater="Bo"), SECOND, replace(SECOND, rater="Bo")]
    assert [one.alpha for one in compute_agreement(same)][1:] == [1, 1]
    assert compute_agreement([ADA, SECOND]) == []
