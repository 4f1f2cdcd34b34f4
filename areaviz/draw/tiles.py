"""Pictures with lines on them, and small pictures side by side with a few words below each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from areaviz.draw.labels import Ticks
from areaviz.draw.marks import (
    Axis,
    Dash,
    Frame,
    Hover,
    Image,
    Mark,
    Pair,
    Panel,
    Path,
    Plot,
    Stroke,
    Texts,
)
from areaviz.draw.pictures import CASING, Box, Pixels
from areaviz.draw.theme import EDGE, PRINT_FONT, PRINT_WIDTH, SCREEN_FONT, Drawing
from areaviz.draw.view import Table
from areaviz.trace.areas import FloatArray

# A picture with lines on it, in pixels of the picture.


_CASING = (2.0, 1.2)
"""Additional width of a line's dark edge, in px and in pt."""
_SMALL = 200
"""A picture with shorter sides, in pixels, is printed with sharp pixels."""


def make_picture_marks(pixels: Pixels) -> list[Mark]:
    """Return a picture and the line around it."""
    height, width = pixels.shape[:2]
    is_smooth = max(height, width) >= _SMALL
    return [
        Image(pixels, (0, 0, width, height), longest=480, is_smooth=is_smooth),
        Frame(0, 0, width, height, Stroke(EDGE, (1, 0.5))),
    ]


def make_stage_axes(box: Box) -> tuple[Axis, Axis]:
    """Return invisible axes, across and down, that show `box` (pixels of the picture)."""
    left, top, right, bottom = box
    return Axis(ends=(left, right), is_seen=False), Axis(ends=(bottom, top), is_seen=False)


def draw_cased_line(
    points_P2: FloatArray, colour: str, width: Pair, opacity: float = 1, dash: Dash = "solid"
) -> Path:
    """Return a line through points (x, y) [P, 2]. Its dark edge makes it visible on any picture."""
    x, y = points_P2.T
    faint = opacity if dash == "solid" else 0.3 * opacity
    edge = width[0] + _CASING[0], width[1] + _CASING[1]
    line = Stroke(colour, width, dash, opacity)
    return Path(x, y, line, casing=Stroke(CASING, edge, opacity=faint))


# Small pictures side by side with a few words below each.


# Maximum share of a column's width that a picture fills.
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

    def tops(self, box: float, line: float, gap: float) -> list[float]:
        """Return the top of every row of boxes and words, and the bottom of the last one."""
        tops = [0.0]
        for start in range(0, len(self.tiles), self.across):
            row = self.tiles[start : start + self.across]
            words = max(len(tile.texts) for tile in row)
            tops.append(tops[-1] + box + line * words + gap)
        return tops


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Lengths of a sheet, on screen or in print."""

    # Width of a column, and height of the box that each picture is fitted into.
    column: float
    box: float
    # Height of a line of words, and gaps below a picture and between two rows of tiles.
    line: float
    under: float
    gap: float


def plot_tiles_on_screen(sheet: Sheet) -> Plot:
    """Return the tiles as a plot for the screen, with columns of width 1 and heights in px."""
    return _lay_out_tiles(
        sheet, _Lengths(1, sheet.height, line=15, under=1, gap=12), is_square=False
    )


def plot_tiles_in_print(sheet: Sheet) -> Plot:
    """Return the tiles as a plot for print, with all lengths in inches."""
    column = (PRINT_WIDTH - (1.1 if sheet.rows else 0.3)) / sheet.across
    high, wide = sheet.tiles[0].pixels.shape[:2]
    box = min(sheet.height / 85, _BROAD * column * high / wide)
    return _lay_out_tiles(
        sheet, _Lengths(column, box, line=0.13, under=0.02, gap=0.1), is_square=True
    )


def _lay_out_tiles(sheet: Sheet, lengths: _Lengths, is_square: bool) -> Plot:
    """Lay out the tiles row by row. Each picture keeps its proportions."""
    box, half = lengths.box, _BROAD * lengths.column / 2
    tops = sheet.tops(box, lengths.line, lengths.gap)
    images, x, row_tops = [], [], []
    for number, tile in enumerate(sheet.tiles):
        middle, top = (number % sheet.across + 0.5) * lengths.column, tops[number // sheet.across]
        place = middle - half, top, middle + half, top + box
        images.append(Image(tile.pixels, place, is_whole=True, down="bottom"))
        x.append(middle)
        row_tops.append(top)
    hovers = ["\n".join(tile.hover) for tile in sheet.tiles]
    centres = [top + box / 2 for top in row_tops]
    under = [top + box + lengths.under for top in row_tops]
    names = Ticks(tuple(top + box / 2 for top in tops[: len(sheet.rows)]), tuple(sheet.rows))
    panel = Panel(
        marks=[
            *images,
            Hover(x, centres, hovers, 0.7 * box),
            *_write_words(sheet, x, under, lengths.line),
        ],
        across=Axis(ends=(0, sheet.across * lengths.column), is_seen=False),
        down=Axis(ends=(tops[-1], 0), ticks=names),
        is_square=is_square,
    )
    return Plot(drawing=sheet, panels=[panel], height=(tops[-1], tops[-1]), above=8, below=4)


def _write_words(
    sheet: Sheet, x: Sequence[float], y: Sequence[float], line: float
) -> Iterator[Texts]:
    """Write the words of every tile below it, the first line in bold."""
    first = ["\n".join(tile.texts[:1]) for tile in sheet.tiles]
    further = ["\n".join(tile.texts[1:]) for tile in sheet.tiles]
    large, lower = (SCREEN_FONT + 1, PRINT_FONT), [top + line for top in y]
    side = "bottom center"
    yield Texts(x, y, first, side=side, size=large, is_bold=True, may_overhang=True)
    yield Texts(x, lower, further, side=side, may_overhang=True)


def tabulate_tiles(sheet: Sheet) -> Table:
    """Return the numbers behind the tiles."""
    return sheet.numbers
