"""View of every head of every layer as a small picture with statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, isqrt

import numpy as np

from areaviz.draw.marks import FOCUSED, Axis, Frame, Hover, Mark, Panel, Plot, Raster, Scale, Texts
from areaviz.draw.pictures import PIXELS, average_blocks, compute_block_size
from areaviz.draw.select import fits_map, get_noun, get_sides, name_field
from areaviz.draw.theme import SCREEN_FONT, SCREEN_WIDTH, Drawing, round_up_scale
from areaviz.draw.view import Table, figure_caption, view_of_marks
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.errors import MAX_MAP_BYTES
from areaviz.trace.query import query_dependence
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Focus

# Maximum number of pictures per row with space for all texts.
_WIDE = 4
MOST_HEADS = 2048
"""Maximum number of heads in all layers. With more heads, pictures would be a few pixels wide."""


@dataclass(frozen=True, slots=True)
class HeadTile:
    """One head's position on the sheet and its statistics."""

    # All four indices are 0-based. Row and column give the position on the sheet.
    layer: int
    head: int
    row: int
    column: int
    # Mean entropy in bits.
    entropy: float
    # Mean area size in items.
    area_size: float
    # Mean distance in items, or NaN if query and memory are different texts.
    distance: float
    # Dependence of the head on its query, as a share of the possible maximum, 0..1.
    dependence: float
    # Whether this head, or every head of its layer, is focused.
    focused: bool
    # Unit of sizes and distances.
    noun: str = "item"

    @property
    def has_distance(self) -> bool:
        """Whether a query and its areas are in the same text."""
        return not np.isnan(self.distance)

    def texts(self, wide: bool) -> list[str]:
        """Return the lines under a picture: all statistics if it is wide, or only the entropy."""
        bits = f"{self.entropy:.1f} bits"
        if not wide:
            return [f"L{self.layer + 1} H{self.head + 1}", bits]
        lines = [f"layer {self.layer + 1}, head {self.head + 1}", bits]
        lines.append(f"{self.area_size:.1f} {self.noun}s")
        if self.has_distance:
            lines.append(f"{self.distance:.1f} away")
        return [*lines, f"{self.dependence:.0%} by query"]

    @property
    def hover(self) -> str:
        """Hover text of the head."""
        lines = [
            f"layer {self.layer + 1}, head {self.head + 1}",
            f"entropy {self.entropy:.2f} bits",
        ]
        lines.append(f"mean area size {self.area_size:.2f} {self.noun}s")
        if self.has_distance:
            lines.append(f"mean distance {self.distance:.2f} {self.noun}s")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class Overview(Drawing):
    """All pictures on one sheet."""

    tiles: Sequence[HeadTile]
    # Item shares: float32, NaN between pictures.
    sheet: FloatArray
    # Number of pictures per row.
    across: int
    # Exact share of its place on the sheet that a picture fills, across and down.
    broad: float
    high: float
    # Upper end of the colour scale.
    top: float

    @property
    def wide(self) -> bool:
        """Whether pictures have space for all their texts."""
        return self.across <= _WIDE

    @property
    def down(self) -> int:
        """Number of rows of pictures."""
        return ceil(len(self.tiles) / self.across)

    @property
    def place_px(self) -> float:
        """Height in px of a picture together with its text."""
        return _tile_px(self.across) / self.high


def _tile_px(across: int) -> float:
    return min(104.0, SCREEN_WIDTH / across)


def arrange_overview(trace: Trace, focus: Focus) -> Overview:
    """Arrange the item shares (queries by memory items) of every head, layer by layer.

    For a large map, only the focused layer is drawn.
    """
    attention = trace.maps[focus.site]
    fields = get_sides(trace, focus.site)
    layers = _choose_layers(attention, focus)
    summary, across = query.head_summary(attention, layers), min(attention.heads, 12)
    count = len(layers) * attention.heads
    side = min(64, isqrt(PIXELS**2 // count))
    rows, columns = (compute_block_size(len(field), side) for field in fields)
    tiles, values = [], []
    for place in range(count):
        row, head = divmod(place, attention.heads)
        layer = layers[row]
        shares_QN = query.item_shares(attention, layer, head)
        bits, most = query_dependence(shares_QN)
        tiles.append(
            HeadTile(
                layer,
                head,
                *divmod(place, across),
                entropy=float(summary.entropy[row, head]),
                area_size=float(summary.area_size[row, head]),
                distance=float(summary.distance[row, head]),
                dependence=bits / most if most else 0.0,
                focused=layer == focus.layer and focus.head in (None, head),
                noun=get_noun(fields[1]),
            )
        )
        values.append(average_blocks(shares_QN, rows, columns))
    wide = across <= _WIDE
    text_px = (15.0 if wide else 12) * len(tiles[0].texts(wide)) + 12
    tile_px = _tile_px(across)
    sheet, broad, high = _arrange_sheet(tiles, values, across, tile_px / (tile_px + text_px))
    every = len(layers) == attention.layers
    title = "Every head, layer by layer" if every else "Every head of one layer"
    if max(rows, columns) > 1:
        title += f" · averaged {rows}×{columns} to a cell"
    below = "layer, head, entropy"
    if wide:
        distance = f", mean distance in {tiles[0].noun}s" if tiles[0].has_distance else ""
        below = f"entropy, mean area size{distance}, how far the map depends on the query"
    names = [f"{name_field(field)} {get_noun(field)}s" for field in fields]
    return Overview(
        title=title,
        note=f"rows {names[0]}, columns {names[1]}; below: {below}",
        caption=figure_caption(trace, replace(focus, head=None), all_layers=every),
        tiles=tiles,
        sheet=sheet,
        across=across,
        broad=broad,
        high=high,
        top=min(1.0, round_up_scale(float(np.nanmax(sheet)))),
    )


def _choose_layers(attention: AttentionMap, focus: Focus) -> Sequence[int]:
    """Return the layers to draw: all layers, or only the focused one of a large map."""
    is_large = attention.weights.nbytes > MAX_MAP_BYTES
    return [focus.layer] if is_large else range(attention.layers)


def _arrange_sheet(
    tiles: Sequence[HeadTile], values: Sequence[FloatArray], across: int, high: float
) -> tuple[FloatArray, float, float]:
    """Put the pictures on a sheet with gaps between them.

    Returns:
        The sheet, and the share of its place that a picture fills, across and down.
    """
    # Repeat cells, so that gaps of whole cells have nearly the intended size.
    down, right = (ceil(32 / side) for side in values[0].shape)
    rows, columns = values[0].shape[0] * down, values[0].shape[1] * right
    place_rows, place_columns = round(rows / high), round(columns / 0.9)
    size = (ceil(len(tiles) / across) * place_rows, across * place_columns)
    sheet = np.full(size, np.nan, dtype=np.float32)
    for tile, picture in zip(tiles, values, strict=True):
        top, left = tile.row * place_rows, tile.column * place_columns
        sheet[top : top + rows, left : left + columns] = picture.repeat(down, 0).repeat(right, 1)
    return sheet, columns / place_columns, rows / place_rows


def plot_overview(drawn: Overview) -> Plot:
    """Draw all pictures on one colour scale.

    The point on each picture has (layer, head) as `customdata`.
    """
    tiles, broad, high = drawn.tiles, drawn.broad, drawn.high
    middles = [tile.column + broad / 2 for tile in tiles], [tile.row + high / 2 for tile in tiles]
    size = (SCREEN_FONT, 6.5) if drawn.wide else (9, 4.5)
    # On screen, the texts begin 6 px below the pictures.
    below = [tile.row + high + 6 / drawn.place_px for tile in tiles]
    marks: list[Mark] = [
        Raster(drawn.sheet, (0, 0, drawn.across, drawn.down)),
        Hover(
            *middles,
            [tile.hover for tile in tiles],
            24,
            clicked=[(tile.layer, tile.head) for tile in tiles],
        ),
        Texts(
            [tile.column for tile in tiles],
            below,
            ["\n".join(tile.texts(drawn.wide)) for tile in tiles],
            print_y=[tile.row + high + 0.02 for tile in tiles],
            side="bottom right",
            size=size,
        ),
    ]
    for tile in tiles:
        if tile.focused:
            marks.append(Frame(tile.column, tile.row, broad, high, FOCUSED, may_overhang=True))
    across = Axis(ends=(-0.01, drawn.across), print_ends=(0, drawn.across), is_seen=False)
    down = Axis(ends=(drawn.down, -0.02), print_ends=(drawn.down, 0), is_seen=False)
    height = drawn.down * drawn.place_px
    return Plot(
        drawing=drawn,
        panels=[Panel(marks=marks, across=across, down=down)],
        height=(height, height / 85),
        above=8,
        below=4,
        scale=Scale(drawn.top, "share of row"),
    )


def tabulate_overview(drawn: Overview) -> Table:
    """Return a table with a row per head in the order of the pictures."""
    rows = []
    for tile in drawn.tiles:
        distance = tile.distance if tile.has_distance else ""
        measures = (tile.entropy, tile.area_size, distance, tile.dependence)
        rows.append((tile.layer + 1, tile.head + 1, *measures))
    unit = drawn.tiles[0].noun
    columns = (
        "layer",
        "head",
        "entropy (bits)",
        f"mean area size ({unit}s)",
        f"mean distance ({unit}s)",
        "query dependence (share)",
    )
    return Table(columns, rows).filled()


def _fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the map has several heads, but at most `MOST_HEADS`."""
    attention = trace.maps.get(focus.site)
    if attention is None:
        return False
    if not 1 < len(_choose_layers(attention, focus)) * attention.heads <= MOST_HEADS:
        return False
    return fits_map(trace, focus)


HEAD_OVERVIEW = view_of_marks(
    "overview",
    "All heads",
    "Which heads look far, near, sharply or broadly?",
    _fits,
    arrange_overview,
    plot_overview,
    tabulate_overview,
    how_to_read=(
        "One small map per layer and head. A diagonal follows the text step by step. A column"
        " is a place that every item attends to."
    ),
)
