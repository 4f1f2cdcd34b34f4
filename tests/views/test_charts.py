"""Charts show every measured value, and no others."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.draw.charts import (
    OTHER,
    compute_bin_edges,
    draw_bars,
    draw_histogram,
    draw_scatter,
    history_figure,
    history_table,
)
from tests.pages.folder import card

SOME = np.array([1, 2, np.nan, 4], np.float32)
CARD = card("x", "area")


def test_missing_values_are_left_out_of_the_bars() -> None:
    drawn = draw_histogram(SOME, "BLEU").data[0]
    assert sum(drawn.y) == 3 and drawn.y[0] == drawn.y[-1] == 1


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40))
def test_every_value_is_in_its_counting_bar(values: list[float]) -> None:
    column = np.array(values, np.float32)
    drawn, edges = draw_histogram(column, "x").data[0], compute_bin_edges(column)
    for number, count in zip(drawn.customdata, drawn.y, strict=True):
        low, high = edges[number], edges[number + 1]
        is_last = number == len(drawn.y) - 1
        inside = [low <= value and (value < high or is_last) for value in column.astype(float)]
        assert sum(inside) == count
    assert sum(drawn.y) == len(values)


@pytest.mark.parametrize("values", [[], [np.nan], [3, 3, 3]])
def test_no_value_and_single_value_can_be_drawn(values: list[float]) -> None:
    column = np.array(values, np.float32)
    assert sum(draw_histogram(column, "x").data[0].y) == np.isfinite(column).sum()


@pytest.mark.parametrize(
    ("value", "ends"), [(1, (0, 1)), (0, (0, 1)), (0.5, (0, 1)), (28.5, (0, 28.5)), (-2, (-2, 1))]
)
def test_equal_values_keep_the_scale_of_their_measure(
    value: float, ends: tuple[float, float]
) -> None:
    """Check that the axis ends at 1, the maximum, if every answer is right."""
    column = np.full(8, value, np.float32)
    figure = draw_histogram(column, "Right")
    assert figure.layout.xaxis.range == ends
    assert sum(figure.data[0].y) == max(figure.data[0].y) == 8
    across = draw_scatter(column, np.arange(8, dtype=np.float32), list("abcdefgh"), ("x", "y"), "t")
    low, high = across.layout.xaxis.range
    assert low < ends[0] <= ends[1] < high and high - low < 1.2 * (ends[1] - ends[0])
    assert across.layout.yaxis.range is None


def test_points_know_their_example() -> None:
    figure = draw_scatter(
        SOME, np.array([5, np.nan, 6, 7], np.float32), list("abcd"), ("x <i>", "y"), "both"
    )
    points = figure.data[0]
    assert list(points.customdata) == [0, 3] and list(points.text) == ["a", "d"]
    assert figure.layout.xaxis.title.text == "x &lt;i&gt;"


def test_equal_measures_have_a_diagonal_line() -> None:
    figure = draw_scatter(SOME, SOME + 3, list("abcd"), ("x", "y"), "both", diagonal=True)
    line, points = figure.data
    assert list(line.x) == list(line.y) == [1, 7] and len(points.x) == 3


def test_bars_know_their_bucket() -> None:
    figure = draw_bars(
        ["1–5", "6–8"], {"one": [1.0, 2.0], "two": [3.0, np.nan]}, ("x", "y"), "title"
    )
    assert [list(group.customdata) for group in figure.data] == [[0, 1], [0, 1]]


def test_each_curve_has_every_validation() -> None:
    figure = history_figure(CARD)
    drawn = {curve.name: (list(curve.x), list(curve.y)) for curve in figure.data}
    assert drawn == {
        "Training": ([500, 1000, 1500], [3.0, 1.5, 1.0]),
        "Validation": ([500, 1000, 1500], [3.2, 1.6, 3.2 / 3]),
    }


def test_curves_differ_without_colour() -> None:
    assert len({curve.line.dash for curve in history_figure(CARD).data}) == 2


def test_missing_measure_is_omitted() -> None:
    history = ({"step": 1, "valid_loss": 2.0}, {"step": 2}, {"step": 3, "valid_loss": 1.0})
    figure = history_figure(replace(CARD, history=history))
    assert [(curve.name, list(curve.x)) for curve in figure.data] == [("Validation", [1, 3])]
    table = history_table(replace(CARD, history=history))
    assert table.columns == ("step", "valid_loss")
    assert math.isnan(float(table.rows[1][1])) and table.rows[2] == (3, 1.0)


def test_missing_history_gives_an_empty_figure() -> None:
    assert len(history_figure(replace(CARD, history=())).data) == 0
    assert history_table(replace(CARD, history=())).rows == []


GROUPS = {
    "news <b>": np.array([True, False, True, False]),
    OTHER: np.array([False, True, False, True]),
}


def test_groups_are_colours_of_stacked_bars() -> None:
    figure = draw_histogram(SOME, "BLEU", groups=GROUPS)
    assert [sum(drawn.y) for drawn in figure.data] == [1, 2]
    assert figure.data[0].name == "news &lt;b&gt;" and figure.layout.showlegend
    assert figure.layout.barmode == "stack"
    assert list(figure.data[1].customdata) == list(range(30))
    assert figure.data[1].marker.color == "#7F7F7F"
    assert not draw_histogram(SOME, "BLEU").layout.showlegend


def test_groups_are_colours_of_points() -> None:
    figure = draw_scatter(SOME, SOME, list("abcd"), ("x", "y"), "both", True, GROUPS)
    line, news, rest = figure.data
    assert not line.showlegend and figure.layout.showlegend
    assert list(news.customdata) == [0] and list(rest.customdata) == [1, 3]
