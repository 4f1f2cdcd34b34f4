"""The Python half of the film strip: the data for the browser, and the locked items."""

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
from areaviz.ui.components.watching import strip_data
from areaviz.views.watching import GOLD
from tests import fakes
from tests.trace.test_clip import clip_trace

FOCUS = Focus("encoder-decoder")


def trace(text: str = "31") -> Trace:
    """Return a trace whose first character attends to one frame and whose end attends to none.

    The second character attends to two frames as one area, to a third frame, and very little to
    another.
    """
    made = clip_trace(text)
    grid = AreaGrid(1, 6, 1, 3)
    weights = np.zeros((1, 1, len(text) + 1, grid.count), np.float32)
    weights[0, 0, 0, grid.index(Area(0, 4, 1, 1))] = 1.0
    weights[0, 0, 1, grid.index(Area(0, 1, 1, 2))] = 0.626
    weights[0, 0, 1, grid.index(Area(0, 5, 1, 1))] = 0.365
    weights[0, 0, 1, grid.index(Area(0, 0, 1, 1))] = 0.009
    attention = AttentionMap("encoder-decoder", "target", "clip", grid, weights)
    return replace(made, maps={attention.site: attention})


def test_strip_data_has_the_shares_of_attention_of_every_word() -> None:
    data = strip_data(trace(), FOCUS)
    assert data["words"] == ["3", "1", "⟨end⟩"] and data["numbers"] == [1, 2, 3, 4, 5, 6]
    assert data["areas"] == [[[4, 1, 1000]], [[1, 2, 626], [5, 1, 365]], []]
    assert len(data["frames"]) == 6 and data["frames"][0].startswith("data:image/")
    json.dumps(data)


def test_strip_data_names_frames_by_their_numbers_in_the_clip() -> None:
    """Check every other frame of a clip with twice as many frames."""
    made, long = trace(), Clip.of("long", fakes.clip().pixels.repeat(2, 0), milliseconds=100)
    field = replace(made.fields["clip"], anchors=made.fields["clip"].anchors * 2)
    request = replace(made.request, clip=long)
    data = strip_data(replace(made, request=request, fields={**made.fields, "clip": field}), FOCUS)
    assert data["numbers"] == [1, 3, 5, 7, 9, 11] and data["milliseconds"] == 200


@pytest.mark.parametrize(("likely", "unsure"), [(0.49, [1]), (0.5, [])])
def test_strip_data_marks_words_that_are_less_than_half_sure(
    likely: float, unsure: list[int]
) -> None:
    made = trace()
    probabilities = np.array([0.9, likely, 0.9], np.float32)
    output = replace(made.output, probabilities=probabilities)
    assert strip_data(replace(made, output=output), FOCUS)["unsure"] == unsure


def test_strip_data_has_the_known_actions() -> None:
    known = replace(trace(), details={GOLD: "2 3 5 6"})
    assert strip_data(trace(), FOCUS)["actions"] == []
    assert strip_data(known, FOCUS)["actions"] == [[1, 3], [4, 6]]


def test_strip_data_calls_attribution_by_its_name() -> None:
    made = trace()
    site = "encoder-decoder gradient"
    maps = {site: replace(made.maps["encoder-decoder"], site=site)}
    assert strip_data(made, FOCUS)["verb"] == "attends most to"
    assert strip_data(replace(made, maps=maps), Focus(site))["verb"] == "depends most on"


def test_strip_data_of_another_layer_has_another_identity() -> None:
    made = trace()
    attention = made.maps["encoder-decoder"]
    weights = np.concatenate([attention.weights, np.roll(attention.weights, 1, -1)])
    two = replace(made, maps={attention.site: replace(attention, weights=weights)})
    first, second = (strip_data(two, replace(FOCUS, layer=layer)) for layer in (0, 1))
    assert first["id"] == strip_data(trace(), FOCUS)["id"] != second["id"]


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
    """Open the page with this session state."""
    app = AppTest.from_function(page, default_timeout=60)
    for name, value in state.items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    return app


def selected(app: AppTest) -> tuple[str, list[int]]:
    """Return the side and the items that the component locks; the rest of the focus stays."""
    found = json.loads(app.json[0].value)
    (strip,) = app.get("bidi_component")
    assert found["mass"] == 70 and json.loads(strip.proto.json)["chosen"] == found["items"]
    return found["side"], found["items"]


def test_watched_keeps_the_words_of_the_page() -> None:
    app = opened()
    assert selected(app) == ("query", [])
    app.session_state["items"] = (2, 0)
    app.run()
    assert selected(app) == ("query", [0, 2])


def test_watched_ignores_frames_that_are_locked() -> None:
    assert selected(opened(items=(1,), side="memory")) == ("query", [])


def test_watched_drops_words_of_a_longer_sentence() -> None:
    app = opened(text="3141", items=(4,))
    assert selected(app) == ("query", [4])
    app.session_state["text"], app.session_state["items"] = "3", ()
    app.run()
    assert not app.exception and selected(app) == ("query", [])
