"""The overview: every head of every layer as a small picture, with its entropy, area size and distance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, isqrt

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from plotly.graph_objects import Figure, Scatter

from areaviz.trace import query
from areaviz.trace.query import HeadSummary
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.views import raster, theme
from areaviz.views.axes import print_scale
from areaviz.views.base import Table, View, caption
from areaviz.views.select import fits, name

ORDERS = ("layer", "head", "entropy", "area size", "distance")
"""What the pictures can be sorted by; statistics from small to large."""
_ACROSS = 12
_WIDE = 4
_TILE_PX, _TEXT_PX = 118.0, 15.0
_UNIT = "share of the row's attention"


@dataclass(frozen=True, slots=True)
class Tile:
    """One head's picture: 0-based layer, head and place in the grid of pictures, and its statistics."""

    layer: int
    head: int
    row: int
    column: int
    entropy: float
    area_size: float
    distance: float

    @property
    def distance_text(self) -> str:
        """The distance, where there is one."""
        return "" if np.isnan(self.distance) else f"{self.distance:.1f} items away"


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """The pictures in order. values: float32 [tiles, r, c], item shares, each the mean of `block` items."""

    tiles: tuple[Tile, ...]
    values: FloatArray
    across: int
    top: float
    title: str
    note: str
    lines: int
    order: str

    @property
    def down(self) -> int:
        """How many rows of pictures there are."""
        return ceil(len(self.tiles) / self.across)

    def texts(self, tile: Tile) -> list[str]:
        """What stands under a picture, line by line: all of it where pictures are wide, else what they are sorted by."""
        if self.across > _WIDE:
            sorted_by = {"area size": f"{tile.area_size:.1f} items", "distance": f"{tile.distance:.1f} away"}
            return [f"L{tile.layer + 1} H{tile.head + 1}", sorted_by.get(self.order, f"{tile.entropy:.1f} bits")]
        texts = [f"layer {tile.layer + 1}, head {tile.head + 1}", f"{tile.entropy:.1f} bits · {tile.area_size:.1f} items"]
        return texts + [tile.distance_text] * (self.lines > 2)


def overview(trace: Trace, focus: Focus, order: str = "layer") -> Overview:
    """Query x memory item shares of every head; heads without a distance come last when sorted by it.

    Raises:
        ValueError: when `order` is not one of ORDERS.
    """
    attention = trace.maps[focus.site]
    summary = query.head_summary(attention)
    count = attention.layers * attention.heads
    across = min(attention.layers if order == "head" else attention.heads, _ACROSS)
    tiles = tuple(_tile(summary, place, lh, across) for place, lh in enumerate(_order(summary, order)))
    side = min(64, isqrt(raster.PIXELS**2 // count))
    blocks = [raster.block(len(trace.fields[field]), side) for field in (attention.query, attention.memory)]
    shares = [raster.average(query.item_shares(attention, t.layer, t.head), *blocks) for t in tiles]
    values = np.stack(shares)
    lines = 2 + (across <= _WIDE and not np.isnan(summary.distance).all())
    names = [name(trace.fields[field]) for field in (attention.query, attention.memory)]
    title = f"Every head, sorted by {order}: rows {names[0]} items, columns {names[1]} items"
    if max(blocks) > 1:
        title += f" · averaged {blocks[0]} × {blocks[1]} to a cell"
    note = _note(across, lines, order)
    return Overview(tiles, values, across, min(1.0, theme.nice_top(float(values.max()))), title, note, lines, order)


def _note(across: int, lines: int, order: str) -> str:
    if across > _WIDE:
        measure = order if order in ORDERS[3:] else "entropy"
        return f"under each: layer, head and {measure}; point at a picture for the rest"
    distance = ", distance to the area's centre" if lines > 2 else ""
    return f"under each: entropy of the area weights, mean area size{distance}, averaged over queries"


def _order(summary: HeadSummary, order: str) -> list[tuple[int, int]]:
    if order not in ORDERS:
        raise ValueError(f"Heads cannot be sorted by {order!r}; choose one of {', '.join(ORDERS)}.")
    pairs = list(np.ndindex(summary.entropy.shape))
    if order == "layer":
        return pairs
    if order == "head":
        return sorted(pairs, key=lambda pair: pair[::-1])
    measure = {"entropy": summary.entropy, "area size": summary.area_size, "distance": summary.distance}[order]
    return sorted(pairs, key=lambda pair: float(np.nan_to_num(measure[pair], nan=np.inf)))


def _tile(summary: HeadSummary, place: int, at: tuple[int, int], across: int) -> Tile:
    measures = (float(m[at]) for m in (summary.entropy, summary.area_size, summary.distance))
    return Tile(*at, place // across, place % across, *measures)


def figure(trace: Trace, focus: Focus, order: str = "layer") -> Figure:
    """All pictures on one colour scale; a click on one carries (layer, head) as `customdata`."""
    drawn = overview(trace, focus, order)
    tile, text = min(_TILE_PX, theme.SCREEN_WIDTH / drawn.across), _TEXT_PX * drawn.lines + 14
    whole = caption(trace, replace(focus, head=None), all_layers=True)
    picture = theme.screen(drawn.title, drawn.note, whole, drawn.down * (tile + text), above=8, below=4)
    high = tile / (tile + text)
    sheet = atlas(drawn, high)
    picture.add_layout_image(
        source=raster.png_uri(sheet, drawn.top),
        xref="x",
        yref="y",
        x=0,
        y=0,
        sizex=drawn.across,
        sizey=drawn.down,
        sizing="stretch",
        layer="below",
    )
    picture.add_trace(_points(drawn, high))
    picture.update_layout(coloraxis=theme.colour_axis(drawn.top, _UNIT), shapes=[_outline(drawn, focus, high)])
    picture.update_xaxes(visible=False, range=[-0.01, drawn.across])
    picture.update_yaxes(visible=False, range=[drawn.down, -0.02])
    return picture


def atlas(drawn: Overview, high: float) -> FloatArray:
    """All pictures on one sheet with NaN between them; a picture takes the share `high` of its place's height."""
    _, rows, columns = drawn.values.shape
    # Cells are doubled until the gaps between pictures can be drawn to a few per cent.
    grow = [max(1, ceil(32 / side)) for side in (rows, columns)]
    pictures = drawn.values.repeat(grow[0], 1).repeat(grow[1], 2)
    rows, columns = pictures.shape[1:]
    place_rows, place_columns = round(rows / high), round(columns / _BROAD)
    sheet = np.full((drawn.down * place_rows, drawn.across * place_columns), np.nan, dtype=np.float32)
    for tile, values in zip(drawn.tiles, pictures, strict=True):
        top, left = tile.row * place_rows, tile.column * place_columns
        sheet[top : top + rows, left : left + columns] = values
    return sheet


def _points(drawn: Overview, high: float) -> Scatter:
    """An unseen point in the middle of every picture, for hover and click, its text below it."""
    hover = [
        f"layer {t.layer + 1}, head {t.head + 1}<br>entropy {t.entropy:.2f} bits<br>mean area size {t.area_size:.2f} items"
        + (f"<br>{t.distance_text}" if t.distance_text else "")
        for t in drawn.tiles
    ]
