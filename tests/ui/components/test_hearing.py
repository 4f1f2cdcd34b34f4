"""The Python half of the sound: the data for the browser, and the choices it may report."""

from __future__ import annotations

import base64

from streamlit.testing.v1 import AppTest

from areaviz.data.sound_files import decode_sound
from areaviz.trace.request import Focus
from areaviz.ui.components.hearing import _data
from tests import fakes

FOCUS = Focus("encoder-decoder")


def page() -> None:
    import streamlit as st

    from areaviz.trace.request import Focus
    from areaviz.ui.components.hearing import hearing
    from tests import fakes

    items = tuple(st.session_state.get("items", ()))
    side = st.session_state.get("side", "query")
    focus = Focus("encoder-decoder", side=side, items=items)
    selection = hearing(fakes.sound_trace(), focus, key="one")
    st.json({"side": selection.side, "items": list(selection.items)})


def test_what_the_page_looks_at_is_framed() -> None:
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


def test_the_browser_gets_the_sound_and_the_weights_in_thousandths() -> None:
    trace = fakes.sound_trace("31")
    data = _data(trace, FOCUS)
    content = base64.b64decode(data["audio"].partition(",")[2])
    assert trace.request.sound is not None
    assert decode_sound(content).sound.pcm == trace.request.sound.pcm
    for row in data["weights"]:
        assert abs(sum(row) - 1000) <= len(row) / 2
    assert len(data["edges"]) == len(data["weights"][0]) + 1
    assert data["rows"] == ["3", "1", "⟨end⟩"]
    most = [max(row) for row in data["weights"][:2]]
    assert data["lit"] == most.index(max(most))
    assert data["id"] != _data(fakes.sound_trace("3141"), FOCUS)["id"]
    assert data["sound"].startswith("data:image/") and data["spoken"] == []
