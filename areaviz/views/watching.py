"""Film strip of a clip: the frames attended to for each word (multimedia paper, Fig. 7).

Below the frames there is one row per word, with one bar per frame in the word's colour. Shapes: T
words, N frames that are watched.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from plotly.graph_objects import Bar, Figure

from areaviz.drawing.axes import add_outline, hover_points
from areaviz.drawing.base import Row, Table, view
from areaviz.drawing.labels import drawable, escape
from areaviz.drawing.pictures import to_data_uri
from areaviz.drawing.select import fits_map
from areaviz.drawing.theme import (
    EDGE,
    PRINT_EDGE,
    PRINT_FONT,
    SECOND,
    axis,
    print_figure,
    screen_figure,
)
from areaviz.drawing.watching import FULL, FrameAttention, watching
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

STRIP = 2.0
"""Height of the frames, in rows."""


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends to a clip."""
    return fits_map(trace, focus) and trace.fields[trace.maps[focus.site].memory].kind == "clip"


def figure(drawn: FrameAttention) -> Figure:
    """Draw the frames and the bars, with hover text."""
    rows, count = len(drawn.words), len(drawn.numbers)
    result = screen_figure(
        drawn,
        float(np.clip(30 * (rows + STRIP), 200, 640)),
        below=40,
        across=axis(
            "frame",
            range=[-0.5, count - 0.5],
            tickvals=list(range(count)),
            ticktext=list(map(str, drawn.numbers)),
        ),
        down=axis(
            range=[rows - 0.5, -0.5 - STRIP],
            tickvals=list(range(rows)),
            ticktext=[escape(word) for word in drawn.words],
        ),
        shapes=[*_lines(drawn), *(add_outline(*box) for box in _frames(drawn))],
        bargap=0.12,
        barmode="overlay",
    )
    _lay_frames(result, drawn)
    for row in range(rows):
        result.add_trace(_bars(drawn, row))
    across, down, texts = _hovers(drawn)
    result.add_trace(hover_points(across, down, texts, 22))
    return result


def _lay_frames(result: Figure, drawn: FrameAttention) -> None:
    """Draw the frames above the rows, each as large as fits above its bars."""
    place = {"xref": "x", "yref": "y", "sizing": "contain", "layer": "below"}
    middle = {"xanchor": "center", "yanchor": "middle"}
    for number, pixels in enumerate(drawn.frames):
        size = {"x": number, "y": -0.6 - STRIP / 2, "sizex": 0.96, "sizey": STRIP - 0.2}
        result.add_layout_image(source=to_data_uri(pixels), **place, **size, **middle)


def _bars(drawn: FrameAttention, row: int) -> Bar:
    """Draw a word's bars on the lower edge of its row."""
    count = len(drawn.numbers)
    return Bar(
        x=list(range(count)),
        y=-drawn.bars(row),
        base=[row + FULL / 2] * count,
        marker={"color": drawn.colour(row), "line": {"color": EDGE, "width": 0.5}},
        hoverinfo="skip",
    )


def _hovers(drawn: FrameAttention) -> tuple[list[float], list[float], list[str]]:
    """Return the positions of the hover texts, and the texts."""
    across: list[float] = []
    down: list[float] = []
    texts = []
    for row, word in enumerate(drawn.words):
        for place, number in enumerate(drawn.numbers):
            across.append(place)
            down.append(row)
            share = float(drawn.weights[row, place])
            texts.append(f"{escape(word)} → frame {number}<br>{share:.1%}")
    return across, down, texts


def _lines(drawn: FrameAttention) -> Iterator[dict[str, object]]:
    """Yield dotted vertical lines at the start and end of each action."""
    line = {"color": SECOND, "width": 1.2, "dash": "dot"}
    for place in sorted({one for pair in drawn.actions for one in pair}):
        ends = {"x0": place - 0.5, "x1": place - 0.5, "y0": -0.5 - STRIP}
        yield {"type": "line", "line": line, **ends, "y1": len(drawn.words) - 0.5}


def _frames(drawn: FrameAttention) -> Iterator[tuple[float, float, float, float]]:
    """Yield frames around the top areas of the focused words, or of all words without focus."""
    for row in drawn.marked or range(len(drawn.words)):
        first, behind = drawn.spans[row]
        if behind > first:
            yield first - 0.5, row - 0.48, behind - first, 0.96


def paper(drawn: FrameAttention) -> PrintFigure:
    """Draw the figure for print."""
    rows, count = len(drawn.words), len(drawn.numbers)
    result, axes = print_figure(drawn, float(np.clip(0.26 * (rows + STRIP), 1.6, 5.0)))
    for number, pixels in enumerate(drawn.frames):
        extent = (number - 0.46, number + 0.46, -0.65, -0.45 - STRIP)
        axes.imshow(pixels, extent=extent, aspect="auto", interpolation="nearest")
    for row in range(rows):
        heights_N = drawn.bars(row)
        axes.bar(range(count), -heights_N, 0.86, row + FULL / 2, color=drawn.colour(row))
    for left, top, width, high in _frames(drawn):
        box = Rectangle((left, top), width, high, fill=False, edgecolor=PRINT_EDGE, linewidth=0.9)
        axes.add_patch(box)
    for place in sorted({one for pair in drawn.actions for one in pair}):
        axes.axvline(place - 0.5, color=SECOND, linewidth=0.7, linestyle=":")
    axes.set(xlim=(-0.5, count - 0.5), ylim=(rows - 0.5, -0.5 - STRIP))
    axes.set_xticks(range(count), list(map(str, drawn.numbers)), fontsize=PRINT_FONT)
    axes.set_yticks(range(rows), [drawable(word) for word in drawn.words])
    axes.set_xlabel("frame", fontsize=8)
    return result


def tabulate(drawn: FrameAttention) -> Table:
    """Tabulate one row per word: its top area with its weight, and the attention to all frames."""
    names = [f"frame {number}" for number in drawn.numbers]
    rows: list[Row] = []
    for row, word in enumerate(drawn.words):
        first, behind = drawn.spans[row]
        area = (drawn.numbers[first], drawn.numbers[behind - 1]) if behind > first else ("", "")
        weights = map(float, drawn.weights[row])
        rows.append((row + 1, word, *area, drawn.shares[row], *weights))
    columns = ("item", "word", "heaviest area from frame", "to frame", "its weight", *names)
    return Table(columns, rows)


VIEW = view(
    "watching",
    "Film strip",
    "Which frames does each word attend to?",
    fits,
    watching,
    figure,
    tabulate,
    paper,
    how_to_read=(
        "Time runs left to right. Each row is a word, and higher bars mean more attention to"
        " that frame. The outline is the word's top area, several frames taken as one. Dotted"
        " lines mark where an action begins and ends, if known. Its words should attend"
        " between them."
    ),
)
