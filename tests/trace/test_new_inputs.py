"""Points and facts as inputs: how a text is parsed, and which fields are valid."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace.errors import InputError
from areaviz.trace.kinds import (
    find_facts_problem,
    find_points_problem,
    format_points,
    locate_sentences,
    make_facts_field,
    make_points_field,
    make_question_field,
    parse_points,
    split_story,
)
from areaviz.trace.request import Request

coordinates = st.integers(0, 1000)


@given(st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=20))
def test_points_survive_round_trip_as_text(points: list[tuple[int, int]]) -> None:
    text = format_points(np.array(points))
    assert parse_points(text).tolist() == [list(point) for point in points]
    assert find_points_problem(make_points_field(text), Request("m", text)) == ""


@given(st.text(max_size=60))
def test_any_text_of_points_is_read_or_refused(text: str) -> None:
    try:
        found = parse_points(text)
    except InputError as error:
        assert "is not a point" in str(error)
    else:
        assert found.shape[1] == 2 and found.size <= 2 * len(text)


def test_field_has_the_points_of_its_request() -> None:
    field = make_points_field("1,2 3,4")
    assert field.labels == ("1", "2")
    assert "other points" in find_points_problem(field, Request("m", "1,2 3,5"))
    assert "is not" in find_points_problem(field, Request("m", "A dog."))


@given(st.text(max_size=80))
def test_sentences_are_parts_of_the_text_in_order(text: str) -> None:
    spans = locate_sentences(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:], strict=False))
    assert all(text[start:end].strip() == text[start:end] for start, end in spans)


def test_story_ends_with_its_question() -> None:
    text = " Ann sat.  Bob, too!  Who sat? "
    facts, question = split_story(text)
    assert [text[start:end] for start, end in facts] == ["Ann sat.", "Bob, too!"]
    assert text[question[0] : question[1]] == "Who sat?"
    assert make_question_field(text).labels == ("Who sat?",)


def test_field_has_the_facts_of_its_request() -> None:
    text = "Ann sat. Who sat?"
    field = make_facts_field(text)
    assert find_facts_problem(field, Request("m", text)) == ""
    assert "other facts" in find_facts_problem(field, Request("m", "Bob sat. Who sat?"))
    assert "not a story" in find_facts_problem(field, Request("m", "Ann sat."))
    moved = replace(field, anchors=field.anchors + 1)
    assert "other facts" in find_facts_problem(moved, Request("m", text))


@pytest.mark.parametrize("text", ["", " ", "...", "Ann sat"])
def test_story_without_question_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no question at its end"):
        split_story(text)
