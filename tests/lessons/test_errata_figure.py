"""Lesson 11: the misprints give the numbers the page says they give."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.lessons import errata_figure as errata
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


def test_the_summary_tells_every_misprint() -> None:
    rows = errata.table(3, 2, 4, 6, 100).rows
    assert [row[1:] for row in rows][:3] == [("9", "25"), ("4", "1"), ("19", "9")]
    assert rows[-1][1:] == ("9", "10")
    assert all(printed != repaired for _, printed, repaired in rows)
