"""Small pictures as buttons on a page, and the listener for pasted pictures."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from areaviz.ui.app.component import get_component, get_report


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small clickable picture.

    Args:
        name: the name that a click reports.
        title: the content of the picture in words.
        image: a PNG or JPEG file.
    """

    name: str
    title: str
    image: bytes

    @property
    def source(self) -> str:
        """The image as a data URL."""
        kind = "png" if self.image.startswith(b"\x89PNG") else "jpeg"
        return f"data:image/{kind};base64,{base64.b64encode(self.image).decode()}"


def draw_thumbnails(
    label: str, pictures: Sequence[Thumbnail], chosen: str, *, key: str, on_pick: Callable[[], None]
) -> None:
    """Draw pictures as buttons, the one named `chosen` marked. `on_pick` follows a click."""
    shown = [{"name": one.name, "title": one.title, "source": one.source} for one in pictures]
    data = {"label": label, "pictures": shown, "chosen": chosen}
    get_component("thumbnails")(key=key, data=data, on_picked_change=on_pick)


def get_picked_name(key: str) -> str | None:
    """Return the name of the picture chosen last in the row with this key; for `on_pick`."""
    name: str | None = get_report(key, "picked")
    return name


def draw_paste_listener(uploader: str) -> None:
    """Say that pictures can be pasted, and pass them on to the file uploader with that key."""
    get_component("paste")(key=f"{uploader}_paste", data={"uploader": uploader})
