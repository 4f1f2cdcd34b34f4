"""Four ways to look: what a model that reads several digits has read after each look."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.ui.look.four_ways import _read


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
