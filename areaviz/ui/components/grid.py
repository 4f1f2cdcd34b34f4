"""The image grid on a page; `ribbon.py` has the parts that it shares with the ribbon."""

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
    """Draw the image grid of the selected site and layer, and return its locked selection.

    Args:
        trace: the trace.
        focus: the first selection; a change by another view moves the grid to the new one.
        key: a widget key that is unique on the page.
        link: grids with one link highlight equal words, and equal cells of one picture. A ribbon
            with that link highlights the words too.
        matches: see `Matches`.

    Raises:
        ValueError: the site does not attend to cells of a picture.
    """
    return mount("grid", trace, focus, key, link=link, matches=matches)
