"""A labelled matrix on one colour scale: what the coverage strip and the alignment matrix are drawn
with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Heatmap

from areaviz.drawing import raster, theme
from areaviz.drawing.axes import (
    depth,
    lay_picture,
    print_labels,
    print_scale,
    print_ticks,
    screen_labels,
    screen_ticks,
)
from areaviz.drawing.base import Table
from areaviz.drawing.labels import escape
from areaviz.trace.record import FloatArray

_VECTOR_CELLS = 2500


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """What is drawn.

    values: float32 [R, C]. rows, columns: visible labels. row_title, column_title: what they are.
    title, note,
    caption: see `theme.screen`. unit: what a value is, beside the colour bar. top: the end of the
    scale.
    marked_rows, marked_columns: outlined. row_block, column_block: how many items a value is the
    mean of.
    """

    values: FloatArray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_title: str
    column_title: str
    title: str
    note: str
    caption: str
    unit: str
    top: float
    marked_rows: tuple[int, ...] = ()
    marked_columns: tuple[int, ...] = ()
    row_block: int = 1
    column_block: int = 1


def reduced(matrix: Matrix) -> Matrix:
    """The matrix averaged down to what a picture may hold, which its title then says; small ones as
    they are.
    """
    rows, columns = (raster.block(side) for side in matrix.values.shape)
    if rows == columns == 1:
        return matrix
    title = f"{matrix.title} · averaged {rows}×{columns} to a pixel"
    values = raster.average(matrix.values, rows, columns)
    top = min(matrix.top, theme.nice_top(float(values.max())))
    return replace(
        matrix, values=values, title=title, top=top, row_block=rows, column_block=columns
    )


def draw(matrix: Matrix) -> Figure:
    """The matrix for the screen: cells with hover text, or one picture where there are too many."""
    shown = reduced(matrix)
    height = float(np.clip(21 * len(shown.rows), 84, 460))
    across = screen_labels(shown.columns)
    down = screen_labels(shown.rows, height, upright=True)
    right, bottom = len(shown.columns) - 0.5, len(shown.rows) - 0.5
    figure = theme.screen(
        shown.title,
        shown.note,
        shown.caption,
        height,
        above=depth(across) + 24,
        below=8,
        across=theme.axis(
            shown.column_title, side="top", range=[-0.5, right], **screen_ticks(across)
        ),
        down=theme.axis(shown.row_title, range=[bottom, -0.5], **screen_ticks(down)),
        coloraxis=theme.colour_axis(shown.top, shown.unit, short=height < 130),
        shapes=_outlines(shown),
    )
    if max(len(shown.rows), len(shown.columns)) > raster.CELLS:
        lay_picture(
            figure, shown.values, shown.top, (-0.5, -0.5, len(shown.columns), len(shown.rows))
        )
    else:
        figure.add_trace(_cells(shown))
    return figure


def draw_print(matrix: Matrix) -> PrintFigure:
    """The same picture for paper."""
    shown = reduced(matrix)
    height = float(np.clip(0.17 * len(shown.rows), 0.6, 5.5))
    figure, axes = theme.paper(shown.title, shown.note, shown.caption, height)
    mesh = _print_cells(axes, shown)
    print_ticks(axes, print_labels(shown.columns), top=True)
    down = print_labels(shown.rows, 72 * height, upright=True)
    axes.set_yticks(down.positions, down.texts)
    axes.set_xlabel(shown.column_title, fontsize=8)
    axes.set_ylabel(shown.row_title, fontsize=8)
    for x, y, width, high in _rectangles(shown):
        axes.add_patch(
            Rectangle((x, y), width, high, fill=False, edgecolor=theme.SECOND, linewidth=1.2)
        )
    print_scale(figure, axes, mesh, shown.unit, shown.top, short=height < 1)
    return theme.finish(figure)


def tabulate(matrix: Matrix) -> Table:
    """The numbers drawn: one line a row of the matrix, one column a memory item (or block of
    items).
    """
    shown = reduced(matrix)
    rows = _names(shown.rows, shown.row_block)
    columns = (shown.row_title, *_names(shown.columns, shown.column_block))
    return Table(
        columns,
        [(label, *map(float, line)) for label, line in zip(rows, shown.values, strict=True)],
    )


def _cells(matrix: Matrix) -> Heatmap:
    rows, columns = ([escape(label) for label in side] for side in (matrix.rows, matrix.columns))
    gap = 1 if max(matrix.values.shape) <= 48 else 0
    return Heatmap(
        z=matrix.values,
        text=[[f"{row} → {column}" for column in columns] for row in rows],
        coloraxis="coloraxis",
        xgap=gap,
        ygap=gap,
        hovertemplate="%{text}<br>%{z:.1%}<extra></extra>",
    )


def _print_cells(axes: Axes, matrix: Matrix) -> ScalarMappable:
    sides = zip((len(matrix.columns), len(matrix.rows)), matrix.values.shape[::-1], strict=True)
    x, y = (np.linspace(-0.5, items - 0.5, cells + 1) for items, cells in sides)
    style: dict[str, Any] = {"cmap": theme.SEQUENCE, "vmin": 0, "vmax": matrix.top}
    if matrix.values.size > _VECTOR_CELLS or max(matrix.values.shape) > raster.CELLS:
        extent = (x[0], x[-1], y[-1], y[0])
        return axes.imshow(
            matrix.values, aspect="auto", interpolation="nearest", extent=extent, **style
        )
    mesh = axes.pcolormesh(x, y, matrix.values, edgecolors="white", linewidth=0.4, **style)
    axes.set(xlim=(x[0], x[-1]), ylim=(y[-1], y[0]))
    return mesh


def _outlines(matrix: Matrix) -> list[dict[str, object]]:
    line = {"color": theme.SECOND, "width": 2}
    return [
        {"type": "rect", "x0": x, "y0": y, "x1": x + width, "y1": y + height, "line": line}
        for x, y, width, height in _rectangles(matrix)
    ]


def _rectangles(matrix: Matrix) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height of every run of marked rows or columns."""
    width, height = len(matrix.columns), len(matrix.rows)
    rows = [(-0.5, start - 0.5, width, end - start) for start, end in _runs(matrix.marked_rows)]
    columns = [
        (start - 0.5, -0.5, end - start, height) for start, end in _runs(matrix.marked_columns)
    ]
    return [*rows, *columns]


def _runs(items: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring items as (start, end), end exclusive."""
    chosen = sorted(set(items))
    starts = [i for i in chosen if i - 1 not in chosen]
    ends = [i + 1 for i in chosen if i + 1 not in chosen]
    return list(zip(starts, ends, strict=True))


def _names(labels: Sequence[str], block: int) -> list[str]:
    """A name for every row or column, no two alike: "3 a", or "9-16" for a block."""
    if block == 1:
        return [f"{i + 1} {label}" for i, label in enumerate(labels)]
    return [f"{i + 1}-{min(i + block, len(labels))}" for i in range(0, len(labels), block)]
