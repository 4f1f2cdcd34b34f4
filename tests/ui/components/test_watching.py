"""The Python half of the film strip: the locked items."""

from __future__ import annotations

import json

from streamlit.testing.v1 import AppTest

from tests.messages import header_of


def page() -> None:
    import streamlit as st

    from areaviz.app.components import draw_film_strip
    from areaviz.trace.request import Focus
    from tests.interactive.test_film_strip import trace

    items = tuple(st.session_state.get("items", ()))
    side = st.session_state.get("side", "query")
    focus = Focus("encoder-decoder", side=side, items=items, mass=70)
    made = trace(st.session_state.get("text", "31"))
    selection = draw_film_strip(made, focus, key="one")
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
    assert found["mass"] == 70 and header_of(strip.proto.bytes)["items"] == found["items"]
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
