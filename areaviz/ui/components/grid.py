"""The image grid on a page; what it shares with the ribbon is in `ribbon.py`."""

from __future__ import annotations

from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import NO_MATCHES, Matches, Selection, mount


def grid(
    trace: Trace,
    focus: Focus,
    *,
    key: str,
    link: str | None = None,
    matches: Matches = NO_MATCHES,
) -> Selection:
    """Show the image grid of the focused site and layer; returns what is locked in it, and how.

    Args:
        focus: gives the first selection; a different one later on (from another view) moves the
            grid to it.
        key: unique on the page.
        link: grids with one link light up the same words, and the same cells of one picture; a
            ribbon of that link lights up the words as well.
        matches: see `Matches`.

    Raises:
        ValueError: the site does not attend to cells of a picture.
    """
    return mount("grid", trace, focus, key, link=link, matches=matches)
