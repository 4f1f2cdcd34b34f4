"""The player on a page. Its pictures are sent once, and it reports nothing."""

from __future__ import annotations

from areaviz.draw.view import Animation
from areaviz.ui.app.component import get_component


def draw_player(animation: Animation, label: str, *, key: str) -> None:
    """Draw the first picture, a play button, and a scrubber with one stop per word."""
    data = {
        "label": label,
        "title": animation.title,
        "note": animation.note,
        "words": list(animation.words),
        "pictures": list(animation.pictures),
        "milliseconds": animation.milliseconds,
    }
    get_component("player")(key=key, data=data)
