"""Printed figures in a page: what is seen of a trace, or of the part of it, that no component can
show.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from areaviz.drawing.export import figure_bytes
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views import VIEWS


@dataclass(frozen=True, slots=True)
class Still:
    """One figure: the question it answers, its view's title, and a data address of an SVG file."""

    title: str
    question: str
    source: str


def stills(trace: Trace, sites: Sequence[str]) -> list[Still]:
    """Every view that fits one of the sites, once, drawn for print."""
    found: dict[str, Still] = {}
    for site in sites:
        for name, view in VIEWS.items():
            if name not in found and view.fits(trace, focus := Focus(site)):
                drawn = base64.b64encode(figure_bytes(view.print(trace, focus), "svg")).decode(
                    "ascii"
                )
                found[name] = Still(view.title, view.question, f"data:image/svg+xml;base64,{drawn}")
    return list(found.values())
