"""Lesson 11: the survey's misprints give the numbers the page says they give."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lessons import survey_errata_figure as errata


@pytest.mark.parametrize("height", range(2, 7))
@pytest.mark.parametrize("width", range(2, 7))
def test_rows_beyond_the_width_are_lost(height: int, width: int) -> None:
    np.testing.assert_array_equal(
        errata.sampled(height, width, printed=False), np.ones((height, width))
    )
    wrong = errata.sampled(height, width, printed=True)
    assert wrong.sum() == width * min(height, width)
    assert not wrong[width:].any()


@pytest.mark.parametrize("glimpses", range(1, errata.MOST_GLIMPSES + 1))
def test_the_repaired_estimate_is_the_slope(glimpses: int) -> None:
    weight = 0.2
    exact = (
        glimpses * (1 - weight) ** (glimpses - 1) * weight * (1 - weight)
    )  # of 1 - (1 - weight)^glimpses
    assert errata.slope(glimpses, printed=False) == pytest.approx(exact)
    assert errata.slope(glimpses, printed=True) == pytest.approx(exact / glimpses)


def test_both_misprints_are_shown_and_told() -> None:
    texts = [note.text for note in errata.sampled_figure(3, 2).layout.annotations]
    assert texts.count("1") == 4 + 6 and texts.count("0") == 2
    rows = errata.table(4, 3, 2).rows
    assert [row[1:] for row in rows] == [("9", "12"), ("0.128", "0.256")]
