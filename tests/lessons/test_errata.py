"""Lesson 13: the misprints give the numbers the page says they give."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lessons import errata, survey_errata
from areaviz.trace.areas import AreaGrid


def test_algorithm_1_as_printed_returns_9_of_25_areas() -> None:
    assert errata.loops(3, 2, printed=True) == errata.Loops(areas=9, first=4.0, right=0)
    assert errata.loops(3, 2, printed=False) == errata.Loops(areas=25, first=1.0, right=25)


@pytest.mark.parametrize("side", range(2, 7))
def test_algorithm_1_repaired_returns_every_area(side: int) -> None:
    for largest in range(1, side + 1):
        found = errata.loops(side, largest, printed=False)
        assert found.areas == found.right == AreaGrid(side, side, largest, largest).count
        assert errata.loops(side, largest, printed=True).right == 0


def test_equation_10_as_printed_gives_69_for_sixteen_ones() -> None:
    assert errata.integral(4, printed=True)[-1, -1] == 69
    np.testing.assert_array_equal(
        errata.integral(4, printed=False), np.outer(range(1, 5), range(1, 5))
    )


def test_the_count_goes_wrong_only_where_the_areas_do_not_fit() -> None:
    assert (errata.printed_count(4, 6), errata.true_count(4, 6)) == (9, 10)
    for length in range(1, 9):
        for size in range(1, length + 1):
            assert errata.printed_count(length, size) == errata.true_count(length, size)


def test_both_versions_of_the_table_are_drawn() -> None:
    texts = [note.text for note in errata.integral_figure(4).layout.annotations]
    assert {"69", "16", "as printed", "as implemented"} <= set(texts)
    assert errata.integral_table(4).rows[-1] == (4, "4 14 34 69", "4 8 12 16")


def test_the_summary_has_every_misprint() -> None:
    rows = errata.table(3, 2, 4, 6, 100).rows
    assert [row[1:] for row in rows][:3] == [("9", "25"), ("4", "1"), ("19", "9")]
    assert rows[-1][1:] == ("9", "10")
    assert all(printed != repaired for _, printed, repaired in rows)


@pytest.mark.parametrize("height", range(2, 7))
@pytest.mark.parametrize("width", range(2, 7))
def test_rows_beyond_the_width_are_lost(height: int, width: int) -> None:
    np.testing.assert_array_equal(
        survey_errata.sampled(height, width, printed=False), np.ones((height, width))
    )
    wrong = survey_errata.sampled(height, width, printed=True)
    assert wrong.sum() == width * min(height, width)
    assert not wrong[width:].any()


@pytest.mark.parametrize("glimpses", range(1, survey_errata.MOST_GLIMPSES + 1))
def test_the_repaired_estimate_is_the_slope(glimpses: int) -> None:
    weight = 0.2
    # The slope of 1 - (1 - weight)^glimpses.
    exact = glimpses * (1 - weight) ** (glimpses - 1) * weight * (1 - weight)
    assert survey_errata.slope(glimpses, printed=False) == pytest.approx(exact)
    assert survey_errata.slope(glimpses, printed=True) == pytest.approx(exact / glimpses)


def test_both_misprints_of_the_survey_are_drawn_and_listed() -> None:
    texts = [note.text for note in survey_errata.sampled_figure(3, 2).layout.annotations]
    assert texts.count("1") == 4 + 6 and texts.count("0") == 2
    rows = survey_errata.table(4, 3, 2).rows
    assert [row[1:] for row in rows] == [("9", "12"), ("0.128", "0.256")]
