"""What a coarse look at the whole picture is good for: the first glimpse with it and without it
(survey Fig. 14).
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing import gazes, pictures, tiles
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.pictures import Pixels
from areaviz.drawing.theme import HEAD_COLOURS
from areaviz.drawing.tiles import Sheet, Tile
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus

_LONGEST = 260
_WITH, _WITHOUT = HEAD_COLOURS[0], HEAD_COLOURS[1]


def fits(trace: Trace, focus: Focus) -> bool:
    """Whether the focus names a gaze of a model that had a coarse look first."""
    return (
        gazes.has_gaze(trace, focus)
        and {gazes.GLIMPSES, gazes.CONTEXT, gazes.WITHOUT} <= trace.gazes.keys()
    )


def sheet(trace: Trace, focus: Focus) -> Sheet:
    """The coarse look, and the picture twice, with the first glimpse outlined."""
    coarse = trace.gazes[gazes.CONTEXT].seen[0, 0]
    side = coarse.shape[0]
    first = Tile(
        pictures.fitted(pictures.coloured(coarse), _LONGEST),
        ("the coarse look", f"{side}×{side} pixels"),
        ("what the model sees of the whole picture before it looks",),
    )
    pairs = ((gazes.GLIMPSES, "with it", _WITH), (gazes.WITHOUT, "without it", _WITHOUT))
    found = (_tile(trace, trace.gazes[site], words, colour) for site, words, colour in pairs)
    note = (
        "boxes: the scales of the first glimpse; the same model, which is kept from its coarse look"
        " on the right"
    )
    title = "The first glimpse, with the coarse look and without it"
    return Sheet((first, *found), 3, 220, title, note, caption(trace, focus))


def _tile(trace: Trace, gaze: Gaze, words: str, colour: str) -> Tile:
    x, y = gazes.centres(gaze)[0]
    texts = (f"first glimpse {words}", f"at {x:.0f}, {y:.0f} px")
    return Tile(_outlined(gazes.picture_of(trace), gaze, colour), texts, texts)


def _outlined(picture: Pixels, gaze: Gaze, colour: str) -> Pixels:
    """The picture with every scale of the first glimpse outlined."""
    small = pictures.fitted(picture, _LONGEST)
    scale = small.shape[1] / picture.shape[1]
    boxes = [(corners.min(0), corners.max(0)) for corners in gaze.corners[0] * scale]
    spots = [((float(a[0]), float(a[1]), float(b[0]), float(b[1])), colour) for a, b in boxes]
    return pictures.outlined(small, spots, 2)


def table(trace: Trace, focus: Focus) -> Table:
    """The middle of every glimpse, with and without the coarse look, and how far they are apart, in
    pixels.
    """
    seeing, blind = (gazes.centres(trace.gazes[site]) for site in (gazes.GLIMPSES, gazes.WITHOUT))
    rows: list[tuple[str | int | float, ...]] = [
        (step, *map(float, (*one, *other)), float(np.hypot(*(one - other))))
        for step, (one, other) in enumerate(zip(seeing, blind, strict=True), 1)
    ]
    return Table(("glimpse", "with: x", "with: y", "without: x", "without: y", "apart (px)"), rows)


def figure(trace: Trace, focus: Focus) -> Figure:
    """Three pictures in a row."""
    return tiles.draw(sheet(trace, focus))


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same for paper."""
    return tiles.draw_print(sheet(trace, focus))


VIEW = View(
    name="context",
    title="Coarse look",
    question="What is the coarse look at the whole picture good for?",
    fits=fits,
    figure=figure,
    table=table,
    print=paper,
)
