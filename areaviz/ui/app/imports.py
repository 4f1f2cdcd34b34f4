"""Imported files: each file is read once, and its result is shown until another is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.app.texts import show_error
from areaviz.trace.errors import BackendError, InputError


class _Result(NamedTuple):
    """The result of reading a file."""

    file_id: str
    sentence: str
    is_refused: bool


def import_once(key: str, file: UploadedFile, read: Callable[[], str]) -> None:
    """Read a file that the user chose, and draw the sentence that describes the result.

    A page runs again with every click. The result is remembered, including a refusal, which may
    take equally long. A record removed after the import therefore stays removed.

    Args:
        key: the key of the result in the session.
        file: the file in the uploader.
        read: reads the file and returns the sentence, or raises the reason for a refusal.
    """
    done: _Result | None = st.session_state.get(key)
    if done is not None and done.file_id == file.file_id:
        _draw_result(key, done)
        return
    try:
        result = _Result(file.file_id, read(), False)
    except (InputError, BackendError) as refusal:
        result = _Result(file.file_id, str(refusal), True)
    st.session_state[key] = result
    # The part of the page above the uploader is out of date now.
    st.rerun()


def _draw_result(key: str, done: _Result) -> None:
    if not done.is_refused:
        st.caption(done.sentence)
        return
    show_error(done.sentence)
    st.button("Try this file again", key=f"{key}_again", on_click=_forget_result, args=(key,))


def _forget_result(key: str) -> None:
    st.session_state.pop(key, None)
