"""Lesson 6: mean keys never put a span on top, a size bias or boundary scores can."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lessons import boundary


def test_without_bias_or_scores_the_best_item_is_the_heaviest() -> None:
    found = boundary.attend(0, 0, 0)
    assert boundary.words_of(boundary.GRID.area(boundary.heaviest(found))) == "young"
    assert found.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.logits, found.parts[0])


@pytest.mark.parametrize("scores", [(0.2, 0, 0), (0, 0.2, 0.2)])
def test_a_size_bias_or_boundary_scores_put_a_span_on_top(
    scores: tuple[float, float, float],
) -> None:
    found = boundary.attend(*scores)
    assert boundary.words_of(boundary.GRID.area(boundary.heaviest(found))) == "young child"


def test_a_start_score_alone_lifts_the_item_as_much_as_the_span() -> None:
    """The span needs the end score too: a start is shared by every area that begins there."""
    for start in np.linspace(-1, 1, 5):
        found = boundary.attend(0, float(start), 0)
        assert boundary.GRID.area(boundary.heaviest(found)).width == 1


def test_an_area_is_the_sum_of_its_parts() -> None:
    found = boundary.attend(0.1, 0.3, -0.2)
    span = next(
        n
        for n in range(boundary.GRID.count)
        if boundary.words_of(boundary.GRID.area(n)) == "young child"
    )
    assert found.logits[span] == pytest.approx(0.95 + 0.1 + 0.3 - 0.2)
    assert (
        boundary.sum_equation(found, span)
        == r"\text{young\ child}: \; 0.95 + 0.1 + 0.3-0.2 = \mathbf{1.15}"
    )


def test_the_table_has_every_area_and_the_pictures_name_the_heaviest() -> None:
    found = boundary.attend(0.5, 0, 0)
    assert len(boundary.table(found).rows) == boundary.GRID.count == 9
    texts = [note.text for note in boundary.figure(found).layout.annotations]
    assert set(boundary.WORDS) <= set(texts) and f"{found.weights.max():.3f}" in texts
    assert len(boundary.parts_figure(found).data) == 4
