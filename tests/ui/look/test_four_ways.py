"""Four ways to look: what a model that reads several digits has read after each look."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.ui.forms.ways_form import WAYS, Reader
from areaviz.ui.look import four_ways
from areaviz.ui.look.four_ways import _read, finding
from tests import fakes
from tests.pages import pictured


@pytest.mark.parametrize(
    ("done", "said"),
    [(1, "–"), (3, "–"), (4, "2"), (7, "2"), (8, "2 7")],
    ids=lambda value: str(value),
)
def test_a_digit_is_read_when_its_last_look_is_done(done: int, said: str) -> None:
    assert _read("27", done, 8) == said


def page() -> None:
    """One reading, at its last look, with the answer of the session."""
    from dataclasses import replace

    import streamlit as st

    from areaviz.ui.forms.ways_form import WAYS, Reader
    from areaviz.ui.look.four_ways import _reading
    from tests import fakes
    from tests.pages.pictured import reader

    trace = fakes.gaze_trace(steps=3)
    read = replace(trace, details={"answer": st.session_state["answer"]})
    _reading(Reader(WAYS[2], reader("location-wise hard"), "Glimpses"), read, 2, "nothing")


@pytest.mark.parametrize(("answer", "told"), [("8", False), ("38", True)])
def test_several_digits_are_told_and_one_is_not_said_twice(answer: str, told: bool) -> None:
    run = AppTest.from_function(page, default_timeout=60)
    run.session_state["answer"] = answer
    run.run()
    assert not run.exception
    assert any("Digits read: **3 8**" in one.value for one in run.markdown) == told


def readings(labels: str, digit: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said at the first look of one model, whose labels are the letters of `labels`."""
    trace = fakes.gaze_trace(steps=len(labels))
    output = trace.fields[trace.output.field]
    fields = {**trace.fields, trace.output.field: replace(output, labels=tuple(labels))}
    monkeypatch.setattr(four_ways, "_digits_shown", lambda trace: digit)
    reader = Reader(WAYS[2], pictured.reader("location-wise hard"), "Glimpses")
    return finding([reader], {reader.card.name: replace(trace, fields=fields)}, 0, len(labels))


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("333", "Every model reads the digit."),
        ("733", "“Glimpses” says **7**, which is wrong; from look 2 on it says **3**."),
        ("737", "“Glimpses” says **7**, which is wrong."),
        ("773", "“Glimpses” says **7**, which is wrong; from look 3 on it says **3**."),
    ],
)
def test_finding_says_from_which_look_a_model_is_right(
    labels: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert readings(labels, "3", monkeypatch) == f"**Look 1 of 3.** {said}"


@pytest.mark.parametrize("digits", ["", "38"])
def test_finding_judges_no_unknown_or_several_digits(
    digits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = readings("333", digits, monkeypatch)
    assert said == "**Look 1 of 3.** Each model shows what it has read so far."
