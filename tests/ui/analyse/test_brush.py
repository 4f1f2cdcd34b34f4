"""A drag or click in a chart of an analysis filters its table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from areaviz.app.page import Page
from areaviz.sets.app import filter
from areaviz.sets.app.filter import (
    draw_brushable_histogram,
    draw_brushable_scatter,
    read_mark_number,
)
from areaviz.sets.app.state import AnalyseState

TABLE = pd.DataFrame(
    {"name": list("abcd"), "bleu_0": [0.0, 50.0, np.nan, 100.0], "bleu_1": [5.0, 60.0, 70.0, 80.0]},
    index=[3, 5, 7, 9],
)


@pytest.mark.parametrize("given", [2, [2], (2,), {"0": 2}, "2"])
def test_mark_is_parsed_in_every_browser_form(given: object) -> None:
    assert read_mark_number(given) == 2


PAGE = Page("analyse", "", AnalyseState())


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the session's state by a plain dictionary."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def dragging(monkeypatch: pytest.MonkeyPatch, *outlines: Any) -> dict[str, Any]:
    """Make charts report outlines; return the callback of a click, by "click"."""
    clicks: dict[str, Any] = {}

    def pointer(key: str, click: Any) -> object:
        clicks.update(click=click)
        return list(outlines)

    monkeypatch.setattr(filter.st, "plotly_chart", lambda *args, **options: None)
    monkeypatch.setattr(filter, "draw_chart_pointer", pointer)
    return clicks


@pytest.mark.parametrize(
    ("outlines", "left"),
    [
        ([], [3, 5, 7, 9]),
        ([{"x": [120.0, 40.0], "y": [0, 1]}], [5, 9]),
        ([{"x": [1.0, 2.0], "y": [0, 1]}], []),
        ([{"x": [-1, 1], "y": [0, 1]}, {"x": [99, 101], "y": [0, 1]}], [3, 9]),
        ([{"x": "nonsense"}], [3, 5, 7, 9]),
    ],
)
def test_drag_over_bars_keeps_examples_between_its_ends(
    monkeypatch: pytest.MonkeyPatch, outlines: list[Any], left: list[int]
) -> None:
    dragging(monkeypatch, *outlines)
    assert list(draw_brushable_histogram(PAGE, TABLE, "bleu_0", "BLEU").index) == left


@pytest.mark.parametrize(("bar", "places"), [(29, (9,)), (0, (3,)), (15, (5,)), (7, ())])
def test_clicked_bar_filters_examples_and_second_click_clears(
    monkeypatch: pytest.MonkeyPatch, bar: int, places: tuple[int, ...]
) -> None:
    clicks = dragging(monkeypatch)
    draw_brushable_histogram(PAGE, TABLE, "bleu_0", "BLEU")
    clicks["click"](bar)
    kept = PAGE.state.row_filter
    assert kept is not None and kept.places == places and kept.title.startswith("BLEU ")
    clicks["click"](bar)
    assert PAGE.state.row_filter is None


@pytest.mark.parametrize(
    ("outline", "left"),
    [
        ({"x": [40, 120], "y": [0, 100]}, [5, 9]),
        ({"x": [0, 60, 0], "y": [0, 0, 100]}, [3]),
        ({"x": [30, 60, 60, 30], "y": [55, 55, 65, 65]}, [5]),
    ],
)
def test_points_within_an_outline_are_kept(
    monkeypatch: pytest.MonkeyPatch, outline: dict[str, Any], left: list[int]
) -> None:
    clicks = dragging(monkeypatch, outline)
    kept = draw_brushable_scatter(PAGE, TABLE, ("bleu_0", "bleu_1"), ("BLEU (1)", "BLEU (2)"))
    assert list(kept.index) == left
    clicks["click"](2)
    assert PAGE.state.example == 7
