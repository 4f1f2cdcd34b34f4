"""The Python half of the sound: the choices that it may report."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from areaviz.app.components import draw_sound_player
    from areaviz.trace.request import Focus
    from tests import fakes

    items = tuple(st.session_state.get("items", ()))
    side = st.session_state.get("side", "query")
    focus = Focus("encoder-decoder", side=side, items=items)
    selection = draw_sound_player(fakes.sound_trace(), focus, key="one")
    st.json({"side": selection.side, "items": list(selection.items)})


def test_selected_rows_are_framed() -> None:
    app = AppTest.from_function(page, default_timeout=60).run()
    assert not app.exception and len(app.get("bidi_component")) == 1
    assert '"items": []' in app.json[0].value.replace("\n", "")
    app.session_state["items"] = (2,)
    app.run()
    assert '"items": [2]' in "".join(app.json[0].value.split("\n")).replace(" 2 ", "2")
    # Moments of the sound are not rows.
    app.session_state["side"] = "memory"
    app.run()
    assert '"side": "query"' in app.json[0].value and "2" not in app.json[0].value
