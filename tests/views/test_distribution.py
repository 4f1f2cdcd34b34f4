"""Histogram and scatter of many examples: every finite value is there, and a brush can be read
back.
"""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.views.distribution import histogram, scatter

SOME = np.array([1, 2, np.nan, 4], np.float32)


def test_missing_values_are_left_out_of_the_bars() -> None:
    figure = histogram({"one <b>": SOME, "two": SOME + 1}, "BLEU")
    assert [list(trace.x) for trace in figure.data] == [[1, 2, 4], [2, 3, 5]]
    assert figure.data[0].name == "one &lt;b&gt;" and figure.layout.dragmode == "select"
    bins = figure.data[0].xbins
    assert bins.start == 1 and bins.end > 5


@pytest.mark.parametrize("values", [[], [np.nan], [3, 3, 3]])
def test_nothing_and_a_single_value_can_be_drawn(values: list[float]) -> None:
    assert histogram({"one": np.array(values, np.float32)}, "x").data[0].xbins.size > 0


def test_points_know_their_example() -> None:
    figure = scatter(
        SOME, np.array([5, np.nan, 6, 7], np.float32), list("abcd"), ("x <i>", "y"), "both"
    )
    points = figure.data[0]
    assert points.customdata.ravel().tolist() == [0, 3] and list(points.text) == ["a", "d"]
    assert figure.layout.xaxis.title.text == "x &lt;i&gt;"
