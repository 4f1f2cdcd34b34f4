"""The player on a page: its pictures travel once, and nothing comes back from it."""

from __future__ import annotations

from areaviz.drawing.base import Played
from areaviz.ui.shell.component import component


def player(played: Played, label: str, *, key: str) -> None:
    """Show the first picture, a button that plays and pauses, and a scrubber with a stop a word.

    Args:
        label: what it is called for those who do not see it.
        key: unique on the page.
    """
    data = {
        "label": label,
        "title": played.title,
        "note": played.note,
        "words": list(played.words),
        "pictures": list(played.pictures),
        "milliseconds": played.milliseconds,
    }
    component("player")(key=key, data=data)
