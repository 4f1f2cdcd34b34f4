"""Uploaded files in the widgets for sounds and clips, and links to them.

A file stays in the session. If it cannot be used, the earlier choice is kept and one sentence says
why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from areaviz.trace.errors import InputError
from areaviz.trace.limits import shorten
from areaviz.ui.shell.page import AnyPage
from areaviz.ui.shell.streamlit_private import is_gone

OWN = "yours"
"""The prefix of the names of uploaded files."""


def not_here(noun: str, name: str) -> str:
    """Return the message for a link to an upload that this session does not have."""
    if name.startswith(f"{OWN}-"):
        return (
            f"The link's {noun} is of whoever made the link and is not stored; upload it again or"
            " choose another one."
        )
    return f'The link names a {noun} "{shorten(name)}", which is not here; choose another one.'


def take_file(page: AnyPage, key: str, field: str, decode: Callable[[bytes, str], Any]) -> None:
    """Select the uploaded file, or keep the sentence that says why it cannot be used.

    Args:
        page: its state has the fields `field` and `refusal`.
        key: the key of the upload widget.
        field: the field that receives the decoded file.
        decode: decodes the file's bytes, given the prefix for its name; raises InputError.
    """
    page.set(refusal="")
    file = st.session_state[key]
    if file is None or is_gone(file):
        return
    try:
        page.unlock(**{field: decode(file.getvalue(), OWN)})
    except InputError as error:
        page.set(refusal=str(error))
