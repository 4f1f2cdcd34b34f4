"""What is read of Streamlit that is not public, with Streamlit's own classes and sessions that only have an id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.session_manager import ActiveSessionInfo, SessionInfo
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from areaviz.door import streamlit_parts


class FakeSession:
    """A session that notes its end."""

    def __init__(self, name: str) -> None:
        self.id, self.ended = name, 0

    def shutdown(self) -> None:
        self.ended += 1


class Streamlit:
    """A runtime with the parts that are read."""

    def __init__(self) -> None:
        self.now = 0.0
        self.files = MemoryUploadedFileManager("/_stcore/upload_file")
        self.storage = MemorySessionStorage(ttl_seconds=120)
        self.storage._cache._timer = lambda: self.now
        self.manager = WebsocketSessionManager(self.storage, self.files, ScriptCache(), None)

    def open(self, name: str) -> FakeSession:
        session = FakeSession(name)
        self.manager._active_session_info_by_id[name] = ActiveSessionInfo(SimpleNamespace(), cast(Any, session))
        return session

    def leave(self, name: str) -> None:
        info = self.manager._active_session_info_by_id.pop(name)
        self.storage.save(SessionInfo(None, info.session))


@pytest.fixture
def streamlit(monkeypatch: pytest.MonkeyPatch) -> Streamlit:
    made = Streamlit()
    runtime = SimpleNamespace(_session_mgr=made.manager, uploaded_file_mgr=made.files)
    monkeypatch.setattr(Runtime, "instance", lambda: runtime)
    return made


def test_sessions_that_are_here_and_that_are_kept(streamlit: Streamlit) -> None:
    for name in "abc":
        streamlit.open(name)
    streamlit.leave("c")
    assert streamlit_parts.sessions() == (2, 1)
    assert [streamlit_parts.is_known_session(name) for name in ("a", "c", "d", "")] == [True, True, False, False]
    assert [streamlit_parts.is_active_session(name) for name in ("a", "c", "d")] == [True, False, False]


def test_the_bytes_of_uploads_by_session(streamlit: Streamlit) -> None:
    for session, file, size in (("a", "1", 10), ("a", "2", 5), ("b", "1", 7), ("a", "1", 20)):
        streamlit.files.add_file(session, UploadedFileRec(file, "name", "type", b"x" * size))
    assert streamlit_parts.uploaded_bytes() == {"a": 25, "b": 7}


def test_who_did_not_come_back_is_ended_once(streamlit: Streamlit) -> None:
    left, back, here = (streamlit.open(name) for name in ("left", "back", "here"))
    sweep = streamlit_parts.LeftSessions()
    sweep.end()
    streamlit.leave("left")
    streamlit.leave("back")
    streamlit.now = 100.0
    sweep.end()
    streamlit.storage.delete("back")
    streamlit.open("back")
    assert (left.ended, back.ended, here.ended) == (0, 0, 0)
    streamlit.now = 130.0
    sweep.end()
    sweep.end()
    assert (left.ended, back.ended, here.ended) == (1, 0, 0)
    assert not streamlit.storage._cache._data
