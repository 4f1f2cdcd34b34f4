"""The clip on a page: it plays, words are chosen under it, and a sentence says what was watched."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.clip import Clip
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.watching import looked_at
from tests import fakes
from tests.trace.test_clip import clip_trace

FOCUS = Focus("encoder-decoder")


def trace(text: str = "31") -> Trace:
    """The first sign is read from one frame, the second from two as one, the end from none."""
    made = clip_trace(text)
    grid = AreaGrid(1, 6, 1, 3)
    weights = np.zeros((1, 1, len(text) + 1, grid.count), np.float32)
    weights[0, 0, 0, grid.index(Area(0, 4, 1, 1))] = 1.0
    weights[0, 0, 1, grid.index(Area(0, 1, 1, 2))] = 0.626
    weights[0, 0, 1, grid.index(Area(0, 5, 1, 1))] = 0.374
    attention = AttentionMap("encoder-decoder", "target", "clip", grid, weights)
    return replace(made, maps={attention.site: attention})


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (0, "“3” attends most to frame 5, with 100%."),
        (1, "“1” attends most to frames 2 to 3, with 63%."),
        (2, "“⟨end⟩” attends to nothing."),
    ],
)
def test_a_sentence_says_which_frames_were_watched(number: int, sentence: str) -> None:
    assert looked_at(trace(), FOCUS, number) == sentence


def test_frames_are_named_by_their_numbers_in_the_clip() -> None:
    """Of twice as many frames every other one is watched."""
    made, long = trace(), Clip.of("long", fakes.clip().pixels.repeat(2, 0))
    field = replace(made.fields["clip"], anchors=made.fields["clip"].anchors * 2)
    request = replace(made.request, clip=long)
    seen = replace(made, request=request, fields={**made.fields, "clip": field})
    assert looked_at(seen, FOCUS, 1) == "“1” attends most to frames 3 to 5, with 63%."


def page() -> None:
    import streamlit as st

    from areaviz.trace.request import Focus
    from areaviz.ui.components.watching import watched
    from tests.ui.components.test_watching import trace

    items = tuple(st.session_state.get("items", ()))
    side = st.session_state.get("side", "query")
    focus = Focus("encoder-decoder", side=side, items=items, mass=70)
    made = trace(st.session_state.get("text", "31"))
    selection = watched(made, focus, key="one")
    st.json({"side": selection.side, "items": list(selection.items), "mass": selection.mass})


def opened(**state: object) -> AppTest:
    app = AppTest.from_function(page, default_timeout=60)
    for name, value in state.items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    return app


def selected(app: AppTest) -> tuple[str, list[int]]:
    """What the component says is locked; what else the focus has goes through."""
    found = json.loads(app.json[0].value)
    assert found["mass"] == 70
    return found["side"], found["items"]


def said(app: AppTest) -> list[str]:
    return [caption.value.replace("\\", "") for caption in app.caption]


def test_the_clip_plays_and_nothing_is_chosen_at_first() -> None:
    app = opened()
    assert selected(app) == ("query", []) and said(app) == []
    assert list(app.button_group(key="one").options) == ["3", "1", "⟨end⟩"]
    (shown,) = app.get("image")[0].proto.imgs
    assert shown.url.endswith(".gif") and shown.alt == "The clip. Seen: 31"


def test_words_that_are_chosen_are_locked_and_explained() -> None:
    app = opened()
    app.button_group(key="one").set_value([2, 0]).run()
    assert selected(app) == ("query", [0, 2])
    assert said(app) == [
        "“⟨end⟩” attends to nothing.",
        "“3” attends most to frame 5, with 100%.",
    ]
    app.button_group(key="one").set_value([]).run()
    assert selected(app) == ("query", []) and said(app) == []


def test_words_that_read_alike_are_chosen_apart() -> None:
    app = opened(text="11")
    app.button_group(key="one").set_value([0]).run()
    assert selected(app) == ("query", [0])
    assert selected(opened(text="11", items=(0,)).run()) == ("query", [0])


def test_what_the_page_looks_at_is_chosen_until_the_reader_chooses() -> None:
    app = opened(items=(1,))
    assert selected(app) == ("query", [1])
    app.session_state["items"] = (0, 2)
    app.run()
    assert selected(app) == ("query", [0, 2])
    # The page still asks for what it asked before, as it learns of the choice only now.
    app.button_group(key="one").set_value([1]).run()
    assert selected(app) == ("query", [1])


def test_frames_that_are_looked_at_are_no_words() -> None:
    assert selected(opened(items=(1,), side="memory")) == ("query", [])


def test_a_shorter_sentence_has_no_word_of_a_longer_one_locked() -> None:
    app = opened(text="3141", items=(4,))
    assert selected(app) == ("query", [4])
    app.session_state["text"], app.session_state["items"] = "3", ()
    app.run()
    assert not app.exception and selected(app) == ("query", [])


def test_words_with_markup_stay_text() -> None:
    app = opened(text="*<")
    assert list(app.button_group(key="one").options)[:2] == ["\\*", "\\<"]
    app.button_group(key="one").set_value([0]).run()
    assert app.caption[0].value.startswith("“\\*”")
