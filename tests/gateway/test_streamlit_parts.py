"""Private parts of Streamlit that the gateway reads, tested with Streamlit's own classes."""

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

from areaviz.gateway import messages


class Streamlit:
    """The parts of a Streamlit runtime that the gateway reads."""

    def __init__(self) -> None:
        self.files = MemoryUploadedFileManager("/_stcore/upload_file")
        self.storage = MemorySessionStorage(ttl_seconds=120)
        self.manager = WebsocketSessionManager(self.storage, self.files, ScriptCache(), None)

    def open(self, name: str) -> None:
        session = SimpleNamespace(id=name)
        self.manager._active_session_info_by_id[name] = ActiveSessionInfo(
            SimpleNamespace(), cast(Any, session)
        )

    def leave(self, name: str) -> None:
        info = self.manager._active_session_info_by_id.pop(name)
        self.storage.save(SessionInfo(None, info.session))


@pytest.fixture
def streamlit(monkeypatch: pytest.MonkeyPatch) -> Streamlit:
    made = Streamlit()
    runtime = SimpleNamespace(_session_mgr=made.manager, uploaded_file_mgr=made.files)
    monkeypatch.setattr(Runtime, "instance", lambda: runtime)
    return made


def test_count_sessions_counts_active_and_kept_sessions(streamlit: Streamlit) -> None:
    for name in "abc":
        streamlit.open(name)
    streamlit.leave("c")
    assert messages.count_sessions() == (2, 1)
    assert [messages.is_known_session(name) for name in ("a", "c", "d", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert [messages.is_active_session(name) for name in ("a", "c", "d")] == [
        True,
        False,
        False,
    ]


def test_uploaded_bytes_are_summed_by_session(streamlit: Streamlit) -> None:
    for session, file, size in (("a", "1", 10), ("a", "2", 5), ("b", "1", 7), ("a", "1", 20)):
        streamlit.files.add_file(session, UploadedFileRec(file, "name", "type", b"x" * size))
    assert messages.count_uploaded_bytes() == {"a": 25, "b": 7}
