"""Mounts the two browser components: small pictures as buttons, and the listener for pasted
pictures.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from areaviz.ui.shell.component import component


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """name: what a click tells. title: what the picture shows, in words. image: a PNG
    or JPEG file.
    """

    name: str
    title: str
    image: bytes

    @property
    def source(self) -> str:
        """The image as an address a browser shows."""
        kind = "png" if self.image.startswith(b"\x89PNG") else "jpeg"
        return f"data:image/{kind};base64,{base64.b64encode(self.image).decode()}"


def thumbnails(
    label: str, pictures: Sequence[Thumbnail], chosen: str, *, key: str, on_pick: Callable[[], None]
) -> None:
    """Show pictures as buttons; the one named `chosen` is marked. `on_pick` runs when another one
    is picked.
    """
    shown = [{"name": one.name, "title": one.title, "source": one.source} for one in pictures]
    data = {"label": label, "pictures": shown, "chosen": chosen}
    component("thumbnails")(key=key, data=data, on_picked_change=on_pick)


def picked(key: str) -> str | None:
    """What was picked last in the row of this key; to be asked for in `on_pick`."""
    state = st.session_state.get(key)
    return state.get("picked") if state else None


def paste_hint(uploader: str) -> None:
    """Say that pictures can be pasted, and hand those that are to the file uploader with the key
    `uploader`.
    """
    component("paste")(key=f"{uploader}_paste", data={"uploader": uploader})
