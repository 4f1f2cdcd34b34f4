"""The film strip: the picture once for every word, bright where the model attends while it produces
the word.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing import tiles
from areaviz.drawing.base import Table, View
from areaviz.drawing.film_frames import Film, Frame, film, film_fits
from areaviz.drawing.film_gif import film_gif
from areaviz.drawing.labels import clip, visible
from areaviz.drawing.tiles import Sheet, Tile
from areaviz.trace.areas import area_text
from areaviz.trace.query import Attended
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

_ACROSS, _WIDTH_PX = 5, 128
_SCREEN, _PRINT = 250, 400
"""Longest side of a frame's picture in pixels."""
_BUDGET = 16
"""More frames than this get smaller pictures, so that the figure stays small."""


def sheet(trace: Trace, focus: Focus, longest: int) -> Sheet:
    """The picture itself and the frames after it, with pictures of at most `longest`
    pixels a side.
    """
    drawn = film(trace, focus)
    stills = drawn.stills(longest if len(drawn.frames) <= _BUDGET else longest * 2 // 3)
    height, width = drawn.picture.shape[:2]
    first = Tile(stills.plain, ("the picture", ""), ("the picture as it is",))
    frames = (Tile(stills.of(frame), _texts(frame), _hover(drawn, frame)) for frame in drawn.frames)
    across = min(_ACROSS, len(drawn.frames) + 1)
    box = float(np.clip(_WIDTH_PX * height / width, 60, 180))
    return Sheet((first, *frames), across, box, drawn.title, drawn.note, drawn.caption)


def _texts(frame: Frame) -> tuple[str, str]:
    return clip(frame.label, 14), "" if frame.probability is None else f"{frame.probability:.0%}"


def _hover(drawn: Film, frame: Frame) -> tuple[str, ...]:
    cell = int(frame.shares.argmax())
    most = f"most on {visible(drawn.cells.labels[cell])}: {frame.shares.max():.1%} of the attention"
    sure = "" if frame.probability is None else f", probability {frame.probability:.1%}"
    return (
        f"{frame.label} (item {frame.first + 1}){sure}",
        most,
        f"heaviest area: {_area(frame.heaviest)}",
    )


def _area(found: Attended | None) -> str:
    """An area and its weight in words."""
    if found is None:
        return "none"
    return f"{area_text(found.area)} ({found.weight:.1%})"


def figure(trace: Trace, focus: Focus) -> Figure:
    """The picture, then a frame a word."""
    return tiles.draw(sheet(trace, focus, _SCREEN))


def table(trace: Trace, focus: Focus) -> Table:
    """One line a frame: the word, its probability, its heaviest area, and the share of
    every cell.
    """
    drawn = film(trace, focus)
    cells = tuple(
        f"{number} {visible(label)}" for number, label in enumerate(drawn.cells.labels, 1)
    )
    rows: list[tuple[str | int | float, ...]] = [
        (
            frame.first + 1,
            frame.label,
            _number(frame.probability),
            _area(frame.heaviest),
            *frame.shares.ravel().tolist(),
        )
        for frame in drawn.frames
    ]
    return Table(("position", "item", "probability", "heaviest area", *cells), rows)


def _number(probability: float | None) -> float | str:
    return "" if probability is None else probability


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    return tiles.draw_print(sheet(trace, focus, _PRINT))


VIEW = View(
    name="film",
    title="Film strip",
    question="Where does the model look for each word or label?",
    fits=film_fits,
    figure=figure,
    table=table,
    print=paper,
    movie=film_gif,
)
