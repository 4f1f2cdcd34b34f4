"""A restarted app takes over the values from the browser one by one, and shows all of them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState

from areaviz.app import frame

METHOD = WidgetState(id="$$ID-0-method", string_value="beam")
BEAM = WidgetState(id="$$ID-1-beam", int_value=7)


class Rerun(Exception):
    """The exception that makes Streamlit run the page again."""


class Session(dict[str, Any]):
    """A session state that records which keys are set."""

    def __init__(self) -> None:
        super().__init__(method="beam", beam=7)
        self.told: list[str] = []

    def __setitem__(self, key: str, value: Any) -> None:
        self.told.append(key)
        super().__setitem__(key, value)


def test_values_are_sent_again_until_all_are_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, drawn, chosen = Session(), [METHOD], list[WidgetState]()

    def rerun_with(widgets: Sequence[WidgetState]) -> NoReturn:
        chosen.extend(widgets)
        raise Rerun

    monkeypatch.setattr(st, "session_state", session)
    monkeypatch.setattr(frame, "get_session_id", lambda: "one")
    monkeypatch.setattr(frame, "take_unread_widgets", lambda: [METHOD, BEAM])
    monkeypatch.setattr(frame, "is_drawn", lambda widget: widget in drawn)
    monkeypatch.setattr(frame, "rerun_with", rerun_with)
    mounted = SimpleNamespace(back=None)
    monkeypatch.setattr(frame, "get_component", lambda name: lambda **given: mounted)

    frame.stash_browser_values()
    with pytest.raises(Rerun):
        frame.apply_stashed_values(is_open=True)
    frame.stash_browser_values()
    drawn.append(BEAM)  # the beam width is drawn once the method is known
    with pytest.raises(Rerun):
        frame.apply_stashed_values(is_open=True)
    assert chosen == [METHOD, BEAM]
    session.told.clear()
    frame.stash_browser_values()
    assert session.told == ["method", "beam"], "the browser may have missed the last drawing"
    frame.apply_stashed_values(is_open=True)
    session.told.clear()
    frame.stash_browser_values()
    assert session.told == []
