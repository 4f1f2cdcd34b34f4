"""The Python half of the player: the views that it plays, and the data for the browser."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app import components as component
from areaviz.app.texts import escape_markdown
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests import fakes


def page() -> None:
    import streamlit as st

    from areaviz.app.chart import draw_view_chart
    from areaviz.trace.request import Focus
    from areaviz.views.views import VIEWS
    from tests import fakes

    trace = fakes.caption_trace("a small red circle")
    draw_view_chart(
        VIEWS[st.session_state.get("view", "playback")], trace, Focus("encoder-decoder"), "one"
    )


def test_played_view_is_mounted_and_still_view_drawn() -> None:
    run = AppTest.from_function(page, default_timeout=60).run()
    assert not run.exception
    assert not run.get("plotly_chart") and len(run.get("bidi_component")) == 1
    told = VIEWS["playback"].figure(
        fakes.caption_trace("a small red circle"), Focus("encoder-decoder")
    )
    assert run.caption[0].value == escape_markdown(told.layout.meta["caption"])
    run.session_state["view"] = "film"
    run.run()
    assert not run.exception
    assert len(run.get("plotly_chart")) == 1 and not run.get("bidi_component")


def test_browser_gets_words_and_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}
    monkeypatch.setattr(
        component, "get_component", lambda *files: lambda **given: told.update(given)
    )
    played = VIEWS["playback"].played
    assert played
    component.draw_player(
        played(fakes.caption_trace("a \ud800 <b>"), Focus("encoder-decoder")), "Playback", key="one"
    )
    data = told["data"]
    assert isinstance(data, dict) and told["key"] == "one"
    assert data["words"] == ["a", "⟨U+D800⟩", "<b>"] and len(data["pictures"]) == 3
    json.dumps(data, ensure_ascii=False).encode("utf-8")
