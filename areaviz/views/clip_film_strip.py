"""Film strip of a clip with the frames that each word attends to (multimedia paper, Fig. 7).

Below the frames there is one row per word, with one bar per frame in the word's colour. Shapes: T
words, N frames that are watched.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from areaviz.draw.labels import Ticks
from areaviz.draw.marks import Axis, Bars, Frame, Hover, Image, Mark, Panel, Plot, Rule, Stroke
from areaviz.draw.select import fits_map
from areaviz.draw.theme import EDGE, PRINT_EDGE, SECOND
from areaviz.draw.view import Row, Table, view_of_marks
from areaviz.drawing.frame_attention import FULL, FrameAttention, find_frame_attention
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

STRIP = 2.0
"""Height of the frames, in rows."""
_BROAD = 0.88
"""Width of a bar, as a share of its column."""
_FRAMED = Stroke(SECOND, (2, 0.9), print_colour=PRINT_EDGE)
"""Line around a top area."""


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends to a clip."""
    return fits_map(trace, focus) and trace.fields[trace.maps[focus.site].memory].kind == "clip"


def plot(drawn: FrameAttention) -> Plot:
    """Draw the frames, and below them a row of bars for each word."""
    rows, count = len(drawn.words), len(drawn.numbers)
    marks: list[Mark] = []
    for number, pixels in enumerate(drawn.frames):
        box = number - 0.48, -0.5 - STRIP, number + 0.48, -0.7
        marks.append(Image(pixels, box, is_whole=True))
    for row in range(rows):
        base = [row + FULL / 2] * count
        places, edge = list(range(count)), Stroke(EDGE, (0.5, 0))
        marks.append(
            Bars(
                places,
                -drawn.bars(row),
                drawn.colour(row),
                _BROAD,
                base,
                edge=edge,
            )
        )
    marks.append(Hover(*_list_hovers(drawn), 22))
    marks += [Frame(*box, _FRAMED) for box in _iterate_frames(drawn)]
    for place in sorted({one for pair in drawn.actions for one in pair}):
        marks.append(Rule(place - 0.5, Stroke(SECOND, (1.2, 0.7), "dot")))
    numbers = Ticks(tuple(range(count)), tuple(map(str, drawn.numbers)))
    panel = Panel(
        marks=marks,
        across=Axis(title="frame", ends=(-0.5, count - 0.5), ticks=numbers),
        down=Axis(ends=(rows - 0.5, -0.5 - STRIP), ticks=Ticks(tuple(range(rows)), drawn.words)),
    )
    high = rows + STRIP
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(float(np.clip(30 * high, 200, 640)), float(np.clip(0.26 * high, 1.6, 5.0))),
        below=40,
    )


def _list_hovers(drawn: FrameAttention) -> tuple[list[float], list[float], list[str]]:
    """Return the positions of the hover texts, and the texts."""
    across: list[float] = []
    down: list[float] = []
    texts = []
    for row, word in enumerate(drawn.words):
        for place, number in enumerate(drawn.numbers):
            across.append(place)
            down.append(row)
            share = float(drawn.weights[row, place])
            texts.append(f"{word} → frame {number}\n{share:.1%}")
    return across, down, texts


def _iterate_frames(drawn: FrameAttention) -> Iterator[tuple[float, float, float, float]]:
    """Yield a box around the top area of each focused word, or of each word without a focus."""
    for row in drawn.marked or range(len(drawn.words)):
        first, behind = drawn.spans[row]
        if behind > first:
            yield first - 0.5, row - 0.48, behind - first, 0.96


def tabulate(drawn: FrameAttention) -> Table:
    """Return a table with a row per word: its top area and weight, and attention to all frames."""
    names = [f"frame {number}" for number in drawn.numbers]
    rows: list[Row] = []
    for row, word in enumerate(drawn.words):
        first, behind = drawn.spans[row]
        area = (drawn.numbers[first], drawn.numbers[behind - 1]) if behind > first else ("", "")
        weights = map(float, drawn.weights[row])
        rows.append((row + 1, word, *area, drawn.shares[row], *weights))
    columns = ("item", "word", "heaviest area from frame", "to frame", "its weight", *names)
    return Table(columns, rows)


VIEW = view_of_marks(
    "watching",
    "Film strip",
    "Which frames does each word attend to?",
    fits,
    find_frame_attention,
    plot,
    tabulate,
    how_to_read=(
        "Time runs left to right. Each row is a word, and higher bars mean more attention to"
        " that frame. The outline is the word's top area, several frames taken as one. Dotted"
        " lines mark where an action begins and ends, if known. Its words should attend"
        " between them."
    ),
)
