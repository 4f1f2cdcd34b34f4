"""Small pictures side by side with a few words under each: what the film strip and the retina are
drawn with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import pictures, theme
from areaviz.drawing.labels import drawable, escape
from areaviz.drawing.pictures import Pixels

_LINE_PX, _GAP_PX, _PRINT_LINE, _PRINT_GAP = 15.0, 12.0, 0.13, 0.1
_BROAD = 0.94
"""What share of its column a picture may take up."""


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """pixels: uint8 [H, W, 3]. texts: visible lines under it, the first one bold. hover: lines
    shown on pointing.
    """

    pixels: Pixels
    texts: tuple[str, ...]
    hover: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Tiles row by row, `across` in a row, in boxes `height` px high; rows: a name for each row, or
    none.

    title, note, caption: see `theme.screen`.
    """

    tiles: tuple[Tile, ...]
    across: int
    height: float
    title: str
    note: str
    caption: str
    rows: tuple[str, ...] = ()

    def tops(self, box: float, line: float, gap: float) -> list[float]:
        """Where every row begins, and where the last one ends, each as high as its box and its
        words.
        """
        tops = [0.0]
        for row in range(ceil(len(self.tiles) / self.across)):
            texts = [
                len(tile.texts) for tile in self.tiles[row * self.across : (row + 1) * self.across]
            ]
            tops.append(tops[-1] + box + line * max(texts) + gap)
        return tops

    def placed(self, tops: list[float]) -> Iterator[tuple[Tile, int, float]]:
        """Every tile with its column and the top of its row."""
        for number, tile in enumerate(self.tiles):
            yield tile, number % self.across, tops[number // self.across]


def draw(sheet: Sheet) -> Figure:
    """The tiles for the screen; each keeps its proportions however wide the page makes
    its column.
    """
    tops = sheet.tops(sheet.height, _LINE_PX, _GAP_PX)
    figure = theme.screen(sheet.title, sheet.note, sheet.caption, tops[-1], above=8, below=4)
    for tile, column, top in sheet.placed(tops):
        place = {"x": column + 0.5, "y": top + sheet.height, "sizex": _BROAD, "sizey": sheet.height}
        anchors = {
            "xref": "x",
            "yref": "y",
            "xanchor": "center",
            "yanchor": "bottom",
            "sizing": "contain",
        }
        figure.add_layout_image(source=pictures.uri(tile.pixels), layer="below", **place, **anchors)
    figure.add_traces([_points(sheet, tops), _words(sheet, tops, 0), _words(sheet, tops, 1)])
    names = [escape(name) for name in sheet.rows]
    middles = [top + sheet.height / 2 for top in tops[: len(names)]]
    figure.update_xaxes(visible=False, range=[0, sheet.across])
    return figure.update_yaxes(tickvals=middles, ticktext=names, range=[tops[-1], 0])


def _points(sheet: Sheet, tops: list[float]) -> Scatter:
    """An unseen point in the middle of every tile, to be pointed at."""
    placed = list(sheet.placed(tops))
    return Scatter(
        x=[column + 0.5 for _, column, _ in placed],
        y=[top + sheet.height / 2 for _, _, top in placed],
        mode="markers",
        marker={"opacity": 0, "size": 0.7 * sheet.height},
        text=["<br>".join(map(escape, tile.hover)) for tile, _, _ in placed],
        hovertemplate="%{text}<extra></extra>",
    )


def _words(sheet: Sheet, tops: list[float], line: int) -> Scatter:
    """The first line under every tile, or all further ones."""
    placed = list(sheet.placed(tops))
    texts = [tile.texts[:1] if line == 0 else tile.texts[1:] for tile, _, _ in placed]
    return Scatter(
        x=[column + 0.5 for _, column, _ in placed],
        y=[top + sheet.height + 1 + line * _LINE_PX for _, _, top in placed],
        mode="text",
        text=["<br>".join(map(escape, lines)) for lines in texts],
        textposition="bottom center",
        textfont={"size": theme.SCREEN_FONT + (1 - line), "weight": 400 if line else 600},
        hoverinfo="skip",
        cliponaxis=False,
    )


def draw_print(sheet: Sheet) -> PrintFigure:
    """The same picture for paper."""
    column = (theme.PRINT_WIDTH - (1.1 if sheet.rows else 0.3)) / sheet.across
    high, wide = sheet.tiles[0].pixels.shape[:2]
    box = min(sheet.height / 85, _BROAD * column * high / wide)
    tops = sheet.tops(box, _PRINT_LINE, _PRINT_GAP)
    figure, axes = theme.paper(sheet.title, sheet.note, sheet.caption, tops[-1])
    for tile, number, top in sheet.placed(tops):
        _lay(axes, tile, ((number + 0.5) * column, top + box), (_BROAD * column, box))
    axes.set(xlim=(0, sheet.across * column), ylim=(tops[-1], 0), xticks=[], aspect="equal")
    axes.set_yticks(
        [top + box / 2 for top in tops[: len(sheet.rows)]], [drawable(name) for name in sheet.rows]
    )
    return theme.finish(figure)


def _lay(axes: Axes, tile: Tile, foot: tuple[float, float], room: tuple[float, float]) -> None:
    """One tile on paper: its bottom centre at `foot`, inside `room` (width, height),
    all in inches.
    """
    high, wide = tile.pixels.shape[:2]
    scale = min(room[0] / wide, room[1] / high)
    (x, y), half = foot, scale * wide / 2
    axes.imshow(
        tile.pixels, extent=(x - half, x + half, y, y - scale * high), interpolation="nearest"
    )
    for line, text in enumerate(tile.texts):
        weight = "normal" if line else "bold"
        below = y + 0.02 + line * _PRINT_LINE
        axes.text(
            x,
            below,
            drawable(text),
            ha="center",
            va="top",
            fontsize=theme.PRINT_FONT,
            fontweight=weight,
        )
