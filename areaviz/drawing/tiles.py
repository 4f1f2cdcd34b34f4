"""Small pictures side by side with a few words below each, on screen and in print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing.axes import add_text, hover_points
from areaviz.drawing.base import Table
from areaviz.drawing.labels import drawable, escape, lines
from areaviz.drawing.pictures import Pixels, to_data_uri
from areaviz.drawing.theme import (
    PRINT_FONT,
    PRINT_WIDTH,
    SCREEN_FONT,
    Drawing,
    print_figure,
    screen_figure,
)

# In px and inches: height of a line of words, and gap between two rows of tiles.
_LINE_PX, _GAP_PX, _PRINT_LINE, _PRINT_GAP = 15.0, 12.0, 0.13, 0.1
# Maximum share of its column that a picture fills.
_BROAD = 0.94


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A picture and its words."""

    # uint8 [H, W, 3].
    pixels: Pixels
    # Visible lines below the picture, the first one bold.
    texts: Sequence[str]
    # Lines shown on hovering.
    hover: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Sheet(Drawing):
    """Tiles arranged row by row."""

    tiles: Sequence[Tile]
    # Number of tiles per row.
    across: int
    # Height in px of the box that each picture is fitted into.
    height: float
    # A name for each row, or none.
    rows: Sequence[str] = ()
    # Numbers behind the tiles, for a view that consists of one sheet.
    numbers: Table = Table((), ())

    def tops(
        self,
        box: float,
        line: float,
        gap: float,
    ) -> list[float]:
        """Return the top of every row of boxes and words, and the bottom of the last one."""
        tops = [0.0]
        for start in range(0, len(self.tiles), self.across):
            row = self.tiles[start : start + self.across]
            words = max(len(tile.texts) for tile in row)
            tops.append(tops[-1] + box + line * words + gap)
        return tops

    def placed(self, tops: list[float]) -> Iterator[tuple[Tile, float, float]]:
        """Yield every tile, the centre of its column of width 1, and the top of its row."""
        for number, tile in enumerate(self.tiles):
            yield tile, number % self.across + 0.5, tops[number // self.across]


def draw(sheet: Sheet) -> Figure:
    """Draw the tiles for the screen; each keeps its proportions at any column width."""
    box = sheet.height
    tops = sheet.tops(box, _LINE_PX, _GAP_PX)
    figure = screen_figure(sheet, tops[-1], above=8, below=4)
    placed = list(sheet.placed(tops))
    for tile, middle, top in placed:
        figure.add_layout_image(
            source=to_data_uri(tile.pixels),
            layer="below",
            xref="x",
            yref="y",
            x=middle,
            y=top + box,
            sizex=_BROAD,
            sizey=box,
            xanchor="center",
            yanchor="bottom",
            sizing="contain",
        )
    tiles, x, row_tops = zip(*placed, strict=True)
    y = [top + box / 2 for top in row_tops]
    hovers = [lines(tile.hover) for tile in tiles]
    first = [lines(tile.texts[:1]) for tile in tiles]
    further = [lines(tile.texts[1:]) for tile in tiles]
    under = [top + box + 1 for top in row_tops]
    lower = [top + _LINE_PX for top in under]
    bold = {"size": SCREEN_FONT + 1, "weight": 600}
    plain = {"size": SCREEN_FONT, "weight": 400}
    figure.add_traces(
        [
            hover_points(x, y, hovers, 0.7 * box),
            add_text(
                x,
                under,
                first,
                bold,
                "bottom center",
                cliponaxis=False,
            ),
            add_text(
                x,
                lower,
                further,
                plain,
                "bottom center",
                cliponaxis=False,
            ),
        ]
    )
    names = [escape(name) for name in sheet.rows]
    middles = [top + box / 2 for top in tops[: len(names)]]
    figure.update_xaxes(visible=False, range=[0, sheet.across])
    return figure.update_yaxes(
        tickvals=middles,
        ticktext=names,
        range=[tops[-1], 0],
    )


def tabulate(sheet: Sheet) -> Table:
    """Return the numbers behind the tiles."""
    return sheet.numbers


def draw_print(sheet: Sheet) -> PrintFigure:
    """Draw the tiles for print."""
    margin = 1.1 if sheet.rows else 0.3
    column = (PRINT_WIDTH - margin) / sheet.across
    high, wide = sheet.tiles[0].pixels.shape[:2]
    box = min(sheet.height / 85, _BROAD * column * high / wide)
    tops = sheet.tops(box, _PRINT_LINE, _PRINT_GAP)
    figure, axes = print_figure(sheet, tops[-1])
    for tile, middle, top in sheet.placed(tops):
        _print_tile(
            axes,
            tile,
            middle * column,
            top + box,
            _BROAD * column,
            box,
        )
    middles = [top + box / 2 for top in tops[: len(sheet.rows)]]
    axes.set(
        xlim=(0, sheet.across * column),
        ylim=(tops[-1], 0),
        xticks=[],
        aspect="equal",
    )
    axes.set_yticks(middles, [drawable(name) for name in sheet.rows])
    return figure


def _print_tile(
    axes: Axes,
    tile: Tile,
    x: float,
    y: float,
    width: float,
    height: float,
) -> None:
    """Draw one tile in print, its bottom centre at (x, y), inside `width` and `height` inches."""
    high, wide = tile.pixels.shape[:2]
    scale = min(width / wide, height / high)
    half = scale * wide / 2
    extent = (x - half, x + half, y, y - scale * high)
    axes.imshow(tile.pixels, extent=extent, interpolation="nearest")
    weight = "bold"
    y += 0.02
    for text in tile.texts:
        axes.text(
            x,
            y,
            drawable(text),
            ha="center",
            va="top",
            fontsize=PRINT_FONT,
            fontweight=weight,
        )
        weight = "normal"
        y += _PRINT_LINE
