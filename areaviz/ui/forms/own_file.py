"""What the widgets for a sound and for a clip share: a file of the reader's own, and a link to one.

It stays in the session. A file that cannot be used leaves what was chosen and shows one sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown
from areaviz.ui.shell.page import AnyPage
from areaviz.ui.shell.streamlit_private import is_gone

OWN = "yours"
"""How the name of what a reader brought begins."""


def not_here(noun: str, name: str) -> str:
    """The sentence for a link that names what this session does not have."""
    if name.startswith(f"{OWN}-"):
        return (
            f"The link's {noun} is of whoever made the link and is not stored; upload it again or"
            " choose another one."
        )
    return f'The link names a {noun} "{shown(name)}", which is not here; choose another one.'


def take_file(page: AnyPage, key: str, field: str, decode: Callable[[bytes, str], Any]) -> None:
    """Choose what was brought, or hold the sentence that says why not.

    Args:
        page: its state has `field` and `refusal`.
        key: of the widget that holds the file.
        field: what becomes the decoded file.
        decode: from the file's bytes and the beginning of its name; raises InputError.
    """
    page.set(refusal="")
    file = st.session_state[key]
    if file is None or is_gone(file):
        return
    try:
        page.unlock(**{field: decode(file.getvalue(), OWN)})
    except InputError as error:
        page.set(refusal=str(error))
