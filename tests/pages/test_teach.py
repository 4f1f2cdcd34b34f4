"""The teacher's page as Streamlit runs it: the plan, and an exercise that asks first."""

from __future__ import annotations

import pytest

from areaviz.learn.exercise import build_exercise_params
from areaviz.samples.paths import HERO
from areaviz.trace import file
from areaviz.views.message import choose_first_focus
from tests.pages.conftest import Open, drawn_texts, errors, shown

TRACE = file.load(HERO)


def test_plan_has_folded_answers(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    app = open_page("teach")
    assert not app.exception and not errors(app)
    text = shown(app)
    assert text.count("<details>") == 6 and "<details open" not in text
    assert "42–45 min" in text and "exercise=1" in app.code[0].value


def test_exercise_answers_only_on_request(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    look = choose_first_focus(TRACE)
    params = build_exercise_params(TRACE.request, look.layer, 0, look.items[0])
    app = open_page("teach", **params)
    assert not app.exception and not errors(app)
    assert "takes **" not in shown(app) and not drawn_texts(app)
    next(one for one in app.button if one.label.startswith("I don")).click().run()
    assert "Head 1 takes **" in shown(app) and drawn_texts(app)


def test_exercise_reports_an_incomplete_link(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AREAVIZ_BACKEND", "local")
    app = open_page("teach", exercise="1", text=TRACE.request.text)
    assert not app.exception and "whole link" in errors(app)[0]
