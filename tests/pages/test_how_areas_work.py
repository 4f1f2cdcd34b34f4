"""The page of questions as Streamlit runs it: the list, a question, and an answer that fails."""

from __future__ import annotations

from typing import Any

import pytest

from areaviz.lessons.questions import QUESTIONS, index_data, question_data
from tests.pages.conftest import Open


def test_the_page_lists_all_questions(open_page: Open) -> None:
    page = open_page("how_areas_work")
    assert not page.exception and not page.error
    data = index_data()
    assert [question["href"] for question in data["questions"]] == [f"?q={n}" for n in QUESTIONS]
    assert len({question["title"] for question in data["questions"]}) == len(QUESTIONS)


@pytest.mark.parametrize("number", [1, 3, 9])
def test_a_question_opens_by_its_address(open_page: Open, number: int) -> None:
    page = open_page("how_areas_work", q=str(number))
    assert not page.exception and not page.error


def test_a_question_whose_model_is_missing_says_so(open_page: Open) -> None:
    # The folder of stored traces has no listeners.
    page = open_page("how_areas_work", q="10")
    assert not page.exception
    assert page.error


def test_old_addresses_lead_to_a_question() -> None:
    old = index_data()["old"]
    assert old["sequence"] == "?q=1&deep=1" and old["transformed-window"] == "?q=12&deep=1"
    assert {"rounding", "as-printed", "mean-and-sum", "summed-area-table"} <= old.keys()


def test_an_open_explanation_shows_the_answer_too() -> None:
    data: dict[str, Any] = question_data(3, is_deep=True)
    assert data["shown"] and data["isDeep"]
    assert not question_data(3)["shown"]
