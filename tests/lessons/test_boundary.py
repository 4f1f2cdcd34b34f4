"""Lesson 6: mean keys never put a span on top, a size bias or boundary scores can."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.learn import arithmetic


def test_best_item_is_heaviest_without_bias_or_scores() -> None:
    found = arithmetic.attend_boundaries(0, 0, 0)
    assert (
        arithmetic.list_words(arithmetic.BOUNDARY_GRID.area(arithmetic.find_heaviest_area(found)))
        == "young"
    )
    assert found.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.logits, found.parts[0])


@pytest.mark.parametrize("scores", [(0.2, 0, 0), (0, 0.2, 0.2)])
def test_size_bias_or_boundary_scores_put_span_on_top(
    scores: tuple[float, float, float],
) -> None:
    found = arithmetic.attend_boundaries(*scores)
    assert (
        arithmetic.list_words(arithmetic.BOUNDARY_GRID.area(arithmetic.find_heaviest_area(found)))
        == "young child"
    )


def test_start_score_raises_item_and_span_equally() -> None:
    """The span needs the end score too: a start is shared by every area that begins there."""
    for start in np.linspace(-1, 1, 5):
        found = arithmetic.attend_boundaries(0, float(start), 0)
        assert arithmetic.BOUNDARY_GRID.area(arithmetic.find_heaviest_area(found)).width == 1
