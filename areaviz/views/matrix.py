"""A labelled matrix on one colour scale: what the coverage strip and the alignment matrix are drawn with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Heatmap, Scatter

from areaviz.trace.record import FloatArray
from areaviz.views import raster, theme
from areaviz.views.axes import depth, print_scale, print_ticks, screen_ticks
from areaviz.views.base import Table
from areaviz.views.labels import for_print, for_screen, ticks, visible

_VECTOR_CELLS = 2500


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """What is drawn.

    values: float32 [R, C]. rows, columns: raw labels. row_title, column_title: what they are. title, note,
    caption: see `theme.screen`. unit: what a value is, beside the colour bar. top: the end of the scale.
    marked_rows, marked_columns: outlined. row_block, column_block: how many items a value is the mean of.
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
    """The matrix averaged down to what a picture may hold, which its title then says; small ones as they are."""
    rows, columns = (raster.block(side) for side in matrix.values.shape)
    if rows == columns == 1:
        return matrix
    title = f"{matrix.title} · averaged {rows} × {columns} to a pixel"
    values = raster.average(matrix.values, rows, columns)
    return replace(matrix, values=values, title=title, row_block=rows, column_block=columns)


def draw(matrix: Matrix) -> Figure:
    """The matrix for the screen: cells with hover text, or one picture where there are too many."""
    shown = reduced(matrix)
    height = float(np.clip(21 * len(shown.rows), 66, 460))
    across = ticks(shown.columns, theme.SCREEN_WIDTH, theme.SCREEN_FONT)
    down = ticks(shown.rows, height, theme.SCREEN_FONT, upright=True)
    figure = theme.screen(shown.title, shown.note, shown.caption, height, above=depth(across) + 24, below=8)
    is_picture = max(len(shown.rows), len(shown.columns)) > raster.CELLS
    figure.add_trace(_picture(figure, shown) if is_picture else _cells(shown))
    figure.update_layout(coloraxis=theme.colour_axis(shown.top, shown.unit), shapes=_outlines(shown))
    right, bottom = len(shown.columns) - 0.5, len(shown.rows) - 0.5
    figure.update_xaxes(screen_ticks(across), side="top", range=[-0.5, right], title_text=shown.column_title)
    figure.update_yaxes(screen_ticks(down), range=[bottom, -0.5], title_text=shown.row_title)
    return figure


def draw_print(matrix: Matrix) -> PrintFigure:
    """The same picture for paper."""
    shown = reduced(matrix)
    height = float(np.clip(0.17 * len(shown.rows), 0.6, 5.5))
    figure, axes = theme.paper(shown.title, shown.note, shown.caption, height)
    mesh = _print_cells(axes, shown)
    print_ticks(axes, ticks(shown.columns, theme.PRINT_ROOM, theme.PRINT_FONT), top=True)
    down = ticks(shown.rows, 72 * height, theme.PRINT_FONT, upright=True)
    axes.set_yticks(down.positions, [for_print(text) for text in down.texts])
    axes.set_xlabel(shown.column_title, fontsize=8)
    axes.set_ylabel(shown.row_title, fontsize=8)
    for x, y, width, high in _rectangles(shown):
        axes.add_patch(Rectangle((x, y), width, high, fill=False, edgecolor=theme.SECOND, linewidth=1.2))
    print_scale(figure, axes, mesh, shown.unit)
    return theme.finish(figure)


def tabulate(matrix: Matrix) -> Table:
    """The numbers drawn: one line a row of the matrix, one column a memory item (or block of items)."""
    shown = reduced(matrix)
    rows = _names(shown.rows, shown.row_block)
    columns = (shown.row_title, *_names(shown.columns, shown.column_block))
    return Table(columns, [(label, *map(float, line)) for label, line in zip(rows, shown.values, strict=True)])


def _cells(matrix: Matrix) -> Heatmap:
    rows, columns = ([for_screen(label) for label in side] for side in (matrix.rows, matrix.columns))
    gap = 1 if max(matrix.values.shape) <= 48 else 0
    return Heatmap(
        z=matrix.values,
        text=[[f"{row} → {column}" for column in columns] for row in rows],
        coloraxis="coloraxis",
        xgap=gap,
        ygap=gap,
        hovertemplate="%{text}<br>%{z:.1%}<extra></extra>",
    )


def _picture(figure: Figure, matrix: Matrix) -> Scatter:
    """Lay the picture into the figure. It brings no colour bar along: the unseen point returned does."""
    figure.add_layout_image(
        source=raster.png_uri(matrix.values, matrix.top),
        xref="x",
        yref="y",
        x=-0.5,
        y=-0.5,
        sizex=len(matrix.columns),
        sizey=len(matrix.rows),
        sizing="stretch",
        layer="below",
    )
    marker = {"coloraxis": "coloraxis", "color": [0], "opacity": 0}
    return Scatter(x=[0], y=[0], mode="markers", marker=marker, hoverinfo="skip")


def _print_cells(axes: Axes, matrix: Matrix) -> ScalarMappable:
    x, y = (np.arange(side + 1) - 0.5 for side in (len(matrix.columns), len(matrix.rows)))
    style = {"cmap": theme.SEQUENCE, "vmin": 0, "vmax": matrix.top}
    if matrix.values.size > _VECTOR_CELLS:
        extent = (x[0], x[-1], y[-1], y[0])
        return axes.imshow(matrix.values, aspect="auto", interpolation="nearest", extent=extent, **style)
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
    rows = [(-0.5, a - 0.5, len(matrix.columns), b - a) for a, b in _runs(matrix.marked_rows)]
    return rows + [(a - 0.5, -0.5, b - a, len(matrix.rows)) for a, b in _runs(matrix.marked_columns)]


def _runs(items: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring items as (start, end), end exclusive."""
    chosen = sorted(set(items))
    starts = [i for i in chosen if i - 1 not in chosen]
    ends = [i + 1 for i in chosen if i + 1 not in chosen]
    return list(zip(starts, ends, strict=True))


def _names(labels: Sequence[str], block: int) -> list[str]:
    """A name for every row or column, no two alike: "3 a", or "9-16" for a block."""
    if block == 1:
        return [f"{i + 1} {visible(label)}" for i, label in enumerate(labels)]
    return [f"{i + 1}-{min(i + block, len(labels))}" for i in range(0, len(labels), block)]
