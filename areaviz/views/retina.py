"""What each glimpse saw: the patches of the picture as the model got them, and what it made of
them.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing import gazes, pictures, tiles
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.labels import clip
from areaviz.drawing.pictures import Pixels
from areaviz.drawing.tiles import Sheet, Tile
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus

_LONGEST, _FRAME = 120, 5


def sheet(trace: Trace, focus: Focus) -> Sheet:
    """A row for each scale, a column for each focused glimpse, and under it the label the model
    then had in mind.
    """
    gaze = trace.gazes[focus.site]
    steps, scales = gazes.chosen_steps(gaze, focus), range(gaze.seen.shape[1])
    last = scales[-1]
    found = tuple(
        _tile(trace, gaze, step, scale, scale == last) for scale in scales for step in steps
    )
    side = gaze.seen.shape[2]
    rows = tuple(f"scale {scale + 1}: {_wide(gaze, scale):.0f} px" for scale in scales)
    note = (
        f"rows: scales by their width in the picture, each brought to {side}×{side} pixels; below:"
        " the label then"
    )
    box = float(np.clip(560 / len(steps), 44, 110))
    return Sheet(found, len(steps), box, "What each glimpse saw", note, caption(trace, focus), rows)


def _tile(trace: Trace, gaze: Gaze, step: int, scale: int, last: bool) -> Tile:
    label, likely = gazes.answer(trace, gaze, step)
    share = () if likely is None else (f"{likely:.0%}",)
    place = f"glimpse {step + 1}, scale {scale + 1}"
    texts = (f"{step + 1}: {clip(label, 10)}", *share) if last else ()
    return Tile(
        framed(gaze, step, scale), texts, (place, f"then {gazes.answer_text(trace, gaze, step)}")
    )


def framed(gaze: Gaze, step: int, scale: int) -> Pixels:
    """A patch, enlarged, in a frame of its step's colour: uint8 [H, W, 3]."""
    inner = pictures.fitted(pictures.coloured(gaze.seen[step, scale]), _LONGEST)
    colour = gazes.step_colour(step, len(gaze.seen))
    height, width = (side + 2 * _FRAME for side in inner.shape[:2])
    frame = np.empty((height, width, 3), dtype=np.uint8)
    frame[:] = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    frame[_FRAME:-_FRAME, _FRAME:-_FRAME] = inner
    return frame


def _wide(gaze: Gaze, scale: int) -> float:
    """How wide a scale is in the picture, in pixels."""
    return float(np.hypot(*(gaze.corners[0, scale, 1] - gaze.corners[0, scale, 0])))


def figure(trace: Trace, focus: Focus) -> Figure:
    """Rows are scales, columns glimpses."""
    return tiles.draw(sheet(trace, focus))


def table(trace: Trace, focus: Focus) -> Table:
    """One line a glimpse and scale: the label after it and the values of all pixels, 0 black to 255
    white.
    """
    gaze = trace.gazes[focus.site]
    side = gaze.seen.shape[2]
    names = tuple(f"row {row + 1}, column {column + 1}" for row, column in np.ndindex(side, side))
    rows: list[tuple[str | int | float, ...]] = []
    for step in gazes.chosen_steps(gaze, focus):
        label, likely = gazes.answer(trace, gaze, step)
        for scale, patch in enumerate(gaze.seen[step], 1):
            rows.append(
                (step + 1, scale, label, "" if likely is None else likely, *map(int, patch.ravel()))
            )
    return Table(("glimpse", "scale", "label", "probability", *names), rows)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    return tiles.draw_print(sheet(trace, focus))


VIEW = View(
    name="retina",
    title="What each glimpse saw",
    question="What did the model get to see in each glimpse, and what did it then think?",
    fits=gazes.steps_fit,
    figure=figure,
    table=table,
    print=paper,
)
