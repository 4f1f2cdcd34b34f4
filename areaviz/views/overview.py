"""The overview: every head of every layer as a small picture, with its entropy, area size and
distance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import ceil, isqrt
from typing import Any

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import raster, theme
from areaviz.drawing.axes import lay_picture, print_scale
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.select import fits, name
from areaviz.trace import query
from areaviz.trace.query import HeadSummary, query_dependence
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

_ACROSS, _WIDE = 12, 4
_TILE_PX, _LINE_PX = 104.0, 15.0
_BROAD = 0.9
MOST_HEADS = 2048
"""Of all layers together: of more, each picture would be a few pixels on a sheet of many screens.
"""
_UNIT = "share of row"


@dataclass(frozen=True, slots=True)
class Tile:
    """One head: 0-based layer, head and place among the pictures, its statistics, and the text
    under its picture.
    """

    layer: int
    head: int
    row: int
    column: int
    entropy: float
    area_size: float
    distance: float
    dependence: float
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """All pictures on one sheet.

    sheet: float32, item shares, NaN between pictures. across, down: how many pictures there are.
    broad, high: what share of its place a picture takes up. top: the end of the scale.
    """

    tiles: tuple[Tile, ...]
    sheet: FloatArray
    across: int
    down: int
    broad: float
    high: float
    top: float
    title: str
    note: str
    caption: str

    @property
    def place_px(self) -> float:
        """How many px of the screen a picture and its text take up, from top to bottom."""
        return min(_TILE_PX, theme.SCREEN_WIDTH / self.across) / self.high


def overview(trace: Trace, focus: Focus) -> Overview:
    """Query x memory item shares of every head, layer by layer."""
    attention = trace.maps[focus.site]
    fields = [trace.fields[attention.query], trace.fields[attention.memory]]
    summary = query.head_summary(attention)
    places = list(product(range(attention.layers), range(attention.heads)))
    shares = [query.item_shares(attention, *place) for place in places]
    tiles, across = _tiles(summary, places, [_dependence(shares_QN) for shares_QN in shares])
    side = min(64, isqrt(raster.PIXELS**2 // len(tiles)))
    blocks = [raster.block(len(field), side) for field in fields]
    values = [raster.average(shares_QN, *blocks) for shares_QN in shares]
    text_px = (_LINE_PX if across <= _WIDE else 12) * len(tiles[0].texts) + 12
    tile_px = min(_TILE_PX, theme.SCREEN_WIDTH / across)
    sheet, broad, high = _sheet(tiles, values, across, tile_px / (tile_px + text_px))
    title = "Every head, layer by layer"
    title += f" · averaged {blocks[0]}×{blocks[1]} to a cell" if max(blocks) > 1 else ""
    note = f"rows {name(fields[0])} items, columns {name(fields[1])} items; {_note(across, tiles)}"
    top = min(1.0, theme.nice_top(float(np.nanmax(sheet))))
    whole = caption(trace, replace(focus, head=None), all_layers=True)
    return Overview(
        tiles, sheet, across, ceil(len(tiles) / across), broad, high, top, title, note, whole
    )


def _tiles(
    summary: HeadSummary, places: list[tuple[int, int]], dependences: list[float]
) -> tuple[tuple[Tile, ...], int]:
    """The heads in order, and how many pictures stand beside each other."""
    across = min(summary.entropy.shape[1], _ACROSS)
    tiles = []
    for place, (at, depends) in enumerate(zip(places, dependences, strict=True)):
        bits, items, away = (
            float(measure[at]) for measure in (summary.entropy, summary.area_size, summary.distance)
        )
        texts = _texts(at, [bits, items, away, depends], across)
        tiles.append(Tile(*at, place // across, place % across, bits, items, away, depends, texts))
    return tuple(tiles), across


def _dependence(shares_QN: FloatArray) -> float:
    """How far a head depends on its query: the share of what it could at most, 0..1."""
    bits, most = query_dependence(shares_QN)
    return bits / most if most else 0.0


def _texts(at: tuple[int, int], measures: list[float], across: int) -> tuple[str, ...]:
    """What stands under a picture: everything where pictures are wide, else the entropy alone."""
    bits, items, away = (
        f"{measures[0]:.1f} bits",
        f"{measures[1]:.1f} items",
        f"{measures[2]:.1f} away",
    )
    if across > _WIDE:
        return f"L{at[0] + 1} H{at[1] + 1}", bits
    distance = () if np.isnan(measures[2]) else (away,)
    return (
        f"layer {at[0] + 1}, head {at[1] + 1}",
        bits,
        items,
        *distance,
        f"{measures[3]:.0%} by query",
    )


def _note(across: int, tiles: tuple[Tile, ...]) -> str:
    if across > _WIDE:
        return "below: layer, head, entropy"
    distance = ", mean distance in items" if len(tiles[0].texts) > 4 else ""
    return f"below: entropy, mean area size{distance}, how far the map depends on the query"


def _sheet(
    tiles: tuple[Tile, ...], values: list[FloatArray], across: int, high: float
) -> tuple[FloatArray, float, float]:
    """The pictures with gaps between them, and which share of its place a picture takes up,
    exactly.
    """
    # Cells are repeated so that the gaps, whole cells too, come out as wanted to a few per cent.
    rows, columns = (side * ceil(32 / side) for side in values[0].shape)
    place_rows, place_columns = round(rows / high), round(columns / _BROAD)
    down = ceil(len(tiles) / across)
    sheet = np.full((down * place_rows, across * place_columns), np.nan, dtype=np.float32)
    for tile, picture in zip(tiles, values, strict=True):
        top, left = tile.row * place_rows, tile.column * place_columns
        enlarged = picture.repeat(rows // len(picture), 0).repeat(columns // picture.shape[1], 1)
        sheet[top : top + rows, left : left + columns] = enlarged
    return sheet, columns / place_columns, rows / place_rows


def figure(trace: Trace, focus: Focus) -> Figure:
    """All pictures on one colour scale; the point in the middle of each carries (layer, head) as
    `customdata`.
    """
    drawn = overview(trace, focus)
    picture = theme.screen(
        drawn.title,
        drawn.note,
        drawn.caption,
        drawn.down * drawn.place_px,
        above=8,
        below=4,
        across={"visible": False, "range": [-0.01, drawn.across], "fixedrange": True},
        down={"visible": False, "range": [drawn.down, -0.02], "fixedrange": True},
        coloraxis=theme.colour_axis(drawn.top, _UNIT),
        shapes=_outline(drawn, focus),
    )
    lay_picture(picture, drawn.sheet, drawn.top, (0, 0, drawn.across, drawn.down))
    return picture.add_traces([_points(drawn), _under(drawn)])


def _points(drawn: Overview) -> Scatter:
    """An unseen point in the middle of every picture, for hover and click."""
    return Scatter(
        x=[tile.column + drawn.broad / 2 for tile in drawn.tiles],
        y=[tile.row + drawn.high / 2 for tile in drawn.tiles],
        mode="markers",
        marker={"opacity": 0, "size": 24},
        customdata=[(tile.layer, tile.head) for tile in drawn.tiles],
        text=["<br>".join(_measures(tile)) for tile in drawn.tiles],
        hovertemplate="%{text}<extra></extra>",
    )


def _measures(tile: Tile) -> list[str]:
    texts = [f"layer {tile.layer + 1}, head {tile.head + 1}", f"entropy {tile.entropy:.2f} bits"]
    texts.append(f"mean area size {tile.area_size:.2f} items")
    return texts + ([] if np.isnan(tile.distance) else [f"mean distance {tile.distance:.2f} items"])


def _under(drawn: Overview) -> Scatter:
    return Scatter(
        x=[tile.column for tile in drawn.tiles],
        y=[tile.row + drawn.high + 6 / drawn.place_px for tile in drawn.tiles],
        mode="text",
        text=["<br>".join(tile.texts) for tile in drawn.tiles],
        textposition="bottom right",
        textfont={"size": theme.SCREEN_FONT if drawn.across <= _WIDE else 9},
        hoverinfo="skip",
    )


def _outline(drawn: Overview, focus: Focus) -> list[dict[str, object]]:
    """A frame around the focused head, or around every head of the focused layer."""
    line = {"color": theme.SECOND, "width": 2}
    return [
        {
            "type": "rect",
            "x0": x,
            "y0": y,
            "x1": x + drawn.broad,
            "y1": y + drawn.high,
            "line": line,
        }
        for x, y in ((tile.column, tile.row) for tile in drawn.tiles if _is_focused(tile, focus))
    ]


def _is_focused(tile: Tile, focus: Focus) -> bool:
    return tile.layer == focus.layer and focus.head in (None, tile.head)


def table(trace: Trace, focus: Focus) -> Table:
    """One line a head, in the order of the pictures; a distance that does not exist is
    left empty.
    """
    rows = [
        (
            t.layer + 1,
            t.head + 1,
            t.entropy,
            t.area_size,
            "" if np.isnan(t.distance) else t.distance,
            t.dependence,
        )
        for t in overview(trace, focus).tiles
    ]
    measures = (
        "entropy (bits)",
        "mean area size (items)",
        "mean distance (items)",
        "query dependence (share)",
    )
    return Table(("layer", "head", *measures), rows)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = overview(trace, focus)
    result, axes = theme.paper(
        drawn.title, drawn.note, drawn.caption, drawn.down * drawn.place_px / 85
    )
    box = (0, drawn.across, drawn.down, 0)
    style: dict[str, Any] = {
        "vmin": 0,
        "vmax": drawn.top,
        "interpolation": "nearest",
        "aspect": "auto",
    }
    image = axes.imshow(drawn.sheet, theme.SEQUENCE, extent=box, **style)
    axes.set(xticks=[], yticks=[])
    for tile in drawn.tiles:
        text = "\n".join(tile.texts)
        size = 6.5 if drawn.across <= _WIDE else 4.5
        axes.text(tile.column, tile.row + drawn.high + 0.02, text, va="top", fontsize=size)
        if _is_focused(tile, focus):
            frame: dict[str, Any] = {
                "edgecolor": theme.SECOND,
                "linewidth": 1.2,
                "fill": False,
                "clip_on": False,
            }
            axes.add_patch(Rectangle((tile.column, tile.row), drawn.broad, drawn.high, **frame))
    print_scale(result, axes, image, _UNIT, drawn.top)
    return theme.finish(result)


def _fits(trace: Trace, focus: Focus) -> bool:
    attention = trace.maps.get(focus.site)
    return (
        attention is not None
        and attention.layers * attention.heads <= MOST_HEADS
        and fits(trace, focus)
    )


VIEW = View(
    name="overview",
    title="All heads",
    question="Which heads look far, near, sharply or broadly?",
    fits=_fits,
    figure=figure,
    table=table,
    print=paper,
)
