"""Training curves show every measured point and nothing that was not measured."""

from __future__ import annotations

import math
from dataclasses import replace

from areaviz.views.history import history_figure, history_table
from tests.pages.folder import card

CARD = card("x", "area")


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
