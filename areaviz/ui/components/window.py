"""The window of a spatial transformer: its pictures travel once, and nothing comes back from it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from areaviz.trace.picture import Picture
from areaviz.ui.shell.component import component

SIDE = 20
"""Pixels a side of what the window gives."""


def window(pictures: Mapping[str, Picture], theta: Sequence[float], *, key: str) -> None:
    """Show pictures under a window that can be dragged.

    Args:
        pictures: by the titles of their buttons.
        theta: where the window lies at first: [2 x 3], row by row. It maps places of the output to
            places of the input, both (x, y) from -1 to 1 at the outer edges.
        key: unique on the page.
    """
    shown = [{"title": title, **_plain(picture)} for title, picture in pictures.items()]
    component("window")(key=key, data={"pictures": shown, "theta": list(theta), "side": SIDE})


def _plain(picture: Picture) -> dict[str, str | int]:
    """Pixels as text: red, green and blue, row by row."""
    height, width, _ = picture.pixels.shape
    return {
        "height": height,
        "width": width,
        "rgb": base64.b64encode(picture.pixels.tobytes()).decode(),
    }
