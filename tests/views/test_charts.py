"""Charts show every value that was measured, and nothing that was not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from areaviz.views.charts import histogram, history_figure, history_table, scatter
from tests.pages.folder import card

SOME = np.array([1, 2, np.nan, 4], np.float32)
CARD = card("x", "area")


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


def test_each_curve_has_every_validation() -> None:
    figure = history_figure(CARD)
    drawn = {curve.name: (list(curve.x), list(curve.y)) for curve in figure.data}
    assert drawn == {
        "Training": ([500, 1000, 1500], [3.0, 1.5, 1.0]),
        "Validation": ([500, 1000, 1500], [3.2, 1.6, 3.2 / 3]),
    }


def test_curves_differ_without_colour_too() -> None:
    assert len({curve.line.dash for curve in history_figure(CARD).data}) == 2


def test_a_measure_that_is_missing_is_left_out() -> None:
    history = ({"step": 1, "valid_loss": 2.0}, {"step": 2}, {"step": 3, "valid_loss": 1.0})
    figure = history_figure(replace(CARD, history=history))
    assert [(curve.name, list(curve.x)) for curve in figure.data] == [("Validation", [1, 3])]
    table = history_table(replace(CARD, history=history))
    assert table.columns == ("step", "valid_loss")
    assert math.isnan(float(table.rows[1][1])) and table.rows[2] == (3, 1.0)


def test_no_history_is_an_empty_picture() -> None:
    assert len(history_figure(replace(CARD, history=())).data) == 0
    assert history_table(replace(CARD, history=())).rows == []
