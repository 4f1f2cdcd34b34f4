"""Access to private parts of Streamlit that the gateway needs. Each one has a test."""

from __future__ import annotations

from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager


def count_sessions() -> tuple[int, int]:
    """Return the number of sessions with a visitor, and of sessions kept for a returning one."""
    manager = _get_manager()
    return len(manager.list_active_sessions()), len(manager._session_storage.list())


def is_known_session(session: str) -> bool:
    """Return whether a socket that names this session can resume it."""
    manager = _get_manager()
    return manager.is_active_session(session) or manager._session_storage.get(session) is not None


def is_active_session(session: str) -> bool:
    """Return whether a visitor has this session open."""
    return _get_manager().is_active_session(session)


def count_uploaded_bytes() -> dict[str, int]:
    """Return the bytes of uploaded files by session."""
    files = Runtime.instance().uploaded_file_mgr
    assert isinstance(files, MemoryUploadedFileManager)
    with files._lock:
        stored = files.file_storage.items()
        return {session: sum(len(one.data) for one in own.values()) for session, own in stored}


def _get_manager() -> WebsocketSessionManager:
    manager = Runtime.instance()._session_mgr
    assert isinstance(manager, WebsocketSessionManager)
    return manager
