"""Mounts the two browser components: small pictures as buttons, and the listener for pasted pictures."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import streamlit as st

HTML: Mapping[str, str] = {
    "thumbnails": '<div class="thumbnails" role="toolbar"></div>',
    "paste": '<p class="paste">Or paste a copied picture with Ctrl + V (⌘ V on a Mac).</p>',
}


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """name: what a click tells. title: what the picture shows, in words. image: a PNG or JPEG file."""

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
    """Show pictures as buttons; the one named `chosen` is marked. `on_pick` runs when another one is picked."""
    shown = [{"name": one.name, "title": one.title, "source": one.source} for one in pictures]
    data = {"label": label, "pictures": shown, "chosen": chosen}
    _component("thumbnails")(key=key, data=data, on_picked_change=on_pick)


def picked(key: str) -> str | None:
    """What was picked last in the row of this key; to be asked for in `on_pick`."""
    state = st.session_state.get(key)
    return state.get("picked") if state else None


def paste_hint(uploader: str) -> None:
    """Say that pictures can be pasted, and hand those that are to the file uploader with the key `uploader`."""
    _component("paste")(key=f"{uploader}_paste", data={"uploader": uploader})


@lru_cache(maxsize=len(HTML))
def _component(name: str) -> Any:
    """A component of this folder, registered at first use; Streamlit has no types for it."""
    folder = files("areaviz.ui.thumbnails")
    css, js = (folder.joinpath(f"{name}.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return st.components.v2.component(f"areaviz.{name}", html=HTML[name], css=css, js=js)
