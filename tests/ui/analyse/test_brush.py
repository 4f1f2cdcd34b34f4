"""What is dragged over or clicked in a chart of an analysis is what its table keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from areaviz.ui.analyse import brush
from areaviz.ui.analyse.brush import brushed_bars, brushed_points, place_of
from areaviz.ui.analyse.state import AnalyseState
from areaviz.ui.shell.page import Page

TABLE = pd.DataFrame(
    {"name": list("abcd"), "bleu_0": [0.0, 50.0, np.nan, 100.0], "bleu_1": [5.0, 60.0, 70.0, 80.0]},
    index=[3, 5, 7, 9],
)


@pytest.mark.parametrize("given", [2, [2], (2,), {"0": 2}, "2"])
def test_a_mark_is_known_in_every_form_that_a_browser_sends(given: object) -> None:
    assert place_of(given) == 2


PAGE = Page("analyse", "", AnalyseState())


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The session."""
    state: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", state)
    return state


def selecting(monkeypatch: pytest.MonkeyPatch, **selection: Any) -> dict[str, Any]:
    """Have charts report a selection; returns what is called for a click, by "click"."""
    event = {"selection": {"points": [], "box": [], **selection}}
    clicks: dict[str, Any] = {}
    monkeypatch.setattr(brush.st, "plotly_chart", lambda *args, **options: event)
    monkeypatch.setattr(brush, "chart_clicks", lambda key, click: clicks.update(click=click))
    return clicks


@pytest.mark.parametrize(
    ("selection", "left"),
    [
        ({}, [3, 5, 7, 9]),
        ({"box": [{"x": [120.0, 40.0]}], "points": [{"customdata": {"0": 0}}]}, [5, 9]),
        ({"box": [{"x": [1.0, 2.0]}]}, []),
    ],
)
def test_bars_keep_what_lies_in_them(
    monkeypatch: pytest.MonkeyPatch, selection: dict[str, Any], left: list[int]
) -> None:
    selecting(monkeypatch, **selection)
    assert list(brushed_bars(PAGE, TABLE, "bleu_0", "BLEU").index) == left


@pytest.mark.parametrize(("bar", "places"), [(29, (9,)), (0, (3,)), (15, (5,)), (7, ())])
def test_a_bar_that_is_clicked_keeps_its_examples_and_again_all(
    monkeypatch: pytest.MonkeyPatch, bar: int, places: tuple[int, ...]
) -> None:
    clicks = selecting(monkeypatch)
    brushed_bars(PAGE, TABLE, "bleu_0", "BLEU")
    clicks["click"](bar)
    kept = PAGE.state.kept
    assert kept is not None and kept.places == places and kept.title.startswith("BLEU ")
    clicks["click"](bar)
    assert PAGE.state.kept is None


FORMS = (lambda place: place, lambda place: [place], lambda place: {"0": place})


@pytest.mark.parametrize("form", FORMS)
def test_points_keep_their_examples(monkeypatch: pytest.MonkeyPatch, form: Any) -> None:
    points = [{"customdata": form(3)}, {"customdata": form(1)}, {"x": 5.0}]
    clicks = selecting(monkeypatch, points=points)
    kept = brushed_points(PAGE, TABLE, ("bleu_0", "bleu_1"), ("BLEU (1)", "BLEU (2)"))
    assert list(kept.index) == [5, 9]
    clicks["click"](2)
    assert PAGE.state.example == 7
