"""The window of a spatial transformer; its pictures are sent once, and it reports nothing."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from areaviz.trace.picture import Picture
from areaviz.ui.shell.component import component

SIDE = 20
"""Side of the window's output in pixels."""


def window(pictures: Mapping[str, Picture], theta: Sequence[float], *, key: str) -> None:
    """Draw pictures under a window that can be dragged.

    Args:
        pictures: the pictures by the titles of their buttons.
        theta: the first position of the window: [2 x 3], row by row. It maps output positions to
            input positions, both (x, y) from -1 to 1 at the outer edges.
        key: a widget key that is unique on the page.
    """
    shown = [{"title": title, **_plain(picture)} for title, picture in pictures.items()]
    component("window")(key=key, data={"pictures": shown, "theta": list(theta), "side": SIDE})


def _plain(picture: Picture) -> dict[str, str | int]:
    """Return the pixels as text: red, green and blue, row by row."""
    height, width, _ = picture.pixels.shape
    return {
        "height": height,
        "width": width,
        "rgb": base64.b64encode(picture.pixels.tobytes()).decode(),
    }
