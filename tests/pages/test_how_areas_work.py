"""The page of questions as Streamlit runs it: the list, a question, and an answer that fails."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from areaviz.learn.question_data import QuestionData
from areaviz.learn.questions import (
    QUESTIONS,
    Question,
    index_data,
    make_path_data,
    make_question_data,
)
from areaviz.trace.errors import BackendError
from tests.pages.conftest import Open


def test_page_lists_all_questions(open_page: Open) -> None:
    page = open_page("how_areas_work")
    assert not page.exception and not page.error
    data = index_data()
    assert [question["href"] for question in data["questions"]] == [f"?q={n}" for n in QUESTIONS]
    assert len({question["title"] for question in data["questions"]}) == len(QUESTIONS)


@pytest.mark.parametrize("number", [1, 3, 9])
def test_question_opens_by_its_address(open_page: Open, number: int) -> None:
    page = open_page("how_areas_work", q=str(number))
    assert not page.exception and not page.error


def test_question_reports_missing_model(open_page: Open) -> None:
    # The folder of stored traces has no listeners.
    page = open_page("how_areas_work", q="10")
    assert not page.exception
    assert page.error


def test_old_addresses_lead_to_a_question() -> None:
    old = index_data()["old"]
    assert old["sequence"] == "?q=1&deep=1" and old["transformed-window"] == "?q=12&deep=1"
    assert {"rounding", "as-printed", "mean-and-sum", "summed-area-table"} <= old.keys()


def test_browser_gets_all_questions_at_once() -> None:
    data = make_path_data(3)
    assert list(data["questions"]) == list(QUESTIONS)
    assert data["questions"][3] == make_question_data(3)


def test_failing_question_keeps_other_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: object) -> QuestionData:
        raise BackendError("The model is missing.")

    monkeypatch.setitem(cast(dict[int, Question], QUESTIONS), 10, replace(QUESTIONS[10], make=fail))
    assert list(make_path_data(3)["questions"]) == [n for n in QUESTIONS if n != 10]
    with pytest.raises(BackendError):
        make_path_data(10)
