"""What the lessons draw with: a board of cells, charts with axes, and pictures several lessons use.

Coordinates of a board are in cells, x to the right and y downwards, so that pictures read like the
arrays they show. Colours are Okabe and Ito's; the background stays clear and unlit text takes the
page's colour, so one picture serves the light and the dark theme.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from plotly.graph_objects import Figure

from areaviz.drawing.theme import CLEAR, HEAD_COLOURS
from areaviz.lessons.arithmetic import Floats, areas_of, holds, plain
from areaviz.trace.areas import Area, AreaGrid

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = HEAD_COLOURS[:6]
GREY = "#808080"
INK, PAPER = "#1A1A1A", "#FFFFFF"
"""Text on a bright and on a dark cell, in either theme."""
COLUMN = 372.0
"""Pixels a picture may count on in a column of its own."""
Version = tuple[Floats, npt.NDArray[np.bool_]]
"""The numbers that an equation gives, and which of them are lit: each [H, W]."""


def tint(colour: str, opacity: float) -> str:
    """A hex colour made see-through, opacity 0..1."""
    red, green, blue = bytes.fromhex(colour[1:])
    return f"rgba({red},{green},{blue},{opacity:.3g})"


QUIET = tint(GREY, 0.16)

_ROUNDED = (
    "M{l:.3f},{top:.3f} L{r:.3f},{top:.3f} Q{right:.3f},{top:.3f} {right:.3f},{t:.3f}"
    " L{right:.3f},{b:.3f} Q{right:.3f},{bottom:.3f} {r:.3f},{bottom:.3f}"
    " L{l:.3f},{bottom:.3f} Q{left:.3f},{bottom:.3f} {left:.3f},{b:.3f}"
    " L{left:.3f},{t:.3f} Q{left:.3f},{top:.3f} {l:.3f},{top:.3f} Z"
)
"""A path of SVG: `l`, `t`, `r` and `b` are where the corners of a side begin to turn."""


@dataclass(slots=True)
class Board:
    """Collects cells, texts and places to click, then makes one figure of them.

    Args:
        left, top, right, bottom: what is shown, in cells.
        cell: side of a cell in pixels, where `room` pixels of width allow it.
    """

    left: float
    top: float
    right: float
    bottom: float
    cell: float = 56
    room: float = COLUMN
    _shapes: list[dict[str, Any]] = field(default_factory=list)
    _texts: list[dict[str, Any]] = field(default_factory=list)
    _hits: list[tuple[float, float, str, int]] = field(default_factory=list)

    def box(
        self,
        x: float,
        y: float,
        fill: str = QUIET,
        text: str = "",
        *,
        ink: str | None = None,
        width: float = 1,
        height: float = 1,
        size: float = 14,
        edge: str | None = None,
    ) -> None:
        """A cell with its text.

        Args:
            ink: colour of the text, the theme's where it is None.
            edge: colour of the outline, which is left out where it is None.
        """
        # Neighbouring cells leave a thin gap between them.
        path = _rounded(x + 0.04, y + 0.04, x + width - 0.04, y + height - 0.04)
        line = {"color": edge or fill, "width": 2.5 if edge else 0}
        self._shapes.append(
            {"type": "path", "path": path, "fillcolor": fill, "line": line, "layer": "below"}
        )
        if text:
            self.text(x + width / 2, y + height / 2, text, size=size, ink=ink)

    def item(
        self, x: float, y: float, text: str, lit: bool, *, height: float = 1, size: float = 14
    ) -> None:
        """A cell for an item of the memory, lit where the chosen area holds it."""
        fill, ink = (ORANGE, INK) if lit else (QUIET, None)
        self.box(x, y, fill, text, ink=ink, height=height, size=size)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        ink: str | None = None,
        anchor: str = "center",
        angle: float = 0,
    ) -> None:
        """Text at a place; `anchor` says which end lies there: "left", "center" or "right"."""
        self._texts.append(
            {
                "x": x,
                "y": y,
                "text": text,
                "font": {"size": size, "color": ink},
                "showarrow": False,
                "borderpad": 0,
                "textangle": angle,
                "xanchor": anchor,
                "yanchor": "middle",
            }
        )

    def hit(self, x: float, y: float, label: str, number: int) -> None:
        """A cell that shows `label` under the pointer and reports `number` when clicked."""
        self._hits.append((x + 0.5, y + 0.5, label, number))

    def figure(self) -> Figure:
        """The picture: cells square, no axes, as tall as its cells need."""
        columns = self.right - self.left
        rows = self.bottom - self.top
        cell = min(self.cell, self.room / columns)
        axis: dict[str, Any] = {
            "visible": False,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "constrain": "domain",
        }
        layout = base_layout(rows * cell) | {
            "shapes": self._shapes,
            "annotations": self._texts,
            "xaxis": axis | {"range": [self.left, self.right]},
            "yaxis": axis | {"range": [self.bottom, self.top], "scaleanchor": "x"},
        }
        # A board without places to click has no markers.
        return Figure(data=[hit_trace(self._hits, cell)] if self._hits else [], layout=layout)


def hit_trace(hits: Sequence[tuple[float, float, str, int]], size: float) -> dict[str, Any]:
    """Invisible markers that answer hover and click: a heat map's own cells cannot be selected.

    Args:
        hits: middle (x, y) of each place, its label and its number.
        size: side of a place in pixels.
    """
    x, y, labels, numbers = zip(*hits, strict=True)
    unseen = {"marker": {"opacity": 0}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "customdata": numbers,
        "text": labels,
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"size": max(8, size * 0.8), "symbol": "square", "opacity": 0},
        # Plotly would show a marker once it is clicked.
        "selected": unseen,
        "unselected": unseen,
    }


def base_layout(height: float) -> dict[str, Any]:
    """What all pictures share: clear background, no margins but a little air, nothing to drag."""
    return {
        "height": max(round(height), 60),
        "margin": {"l": 2, "r": 2, "t": 2, "b": 2},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
    }


def axes_layout(height: float, x_title: str, y_title: str, legend_rows: int = 1) -> dict[str, Any]:
    """Layout of a chart with axes: a legend on top, fixed ranges, titles on the axes.

    Args:
        legend_rows: how many lines the legend needs where it is narrow.
    """
    legend = {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"}
    legend |= {"itemclick": False, "itemdoubleclick": False, "title": {"text": ""}}
    axis: dict[str, Any] = {"fixedrange": True, "zeroline": False}
    return base_layout(height) | {
        "margin": {"l": 56, "r": 8, "t": 6 + 24 * legend_rows, "b": 46},
        "showlegend": True,
        "legend": legend,
        "xaxis": axis | {"title": {"text": x_title}},
        "yaxis": axis | {"title": {"text": y_title}},
    }


def dots(x: Any, y: Any, name: str, colour: str, size: float, opacity: float = 1) -> dict[str, Any]:
    """Points that show their numbers under the pointer."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "name": name,
        "marker": {"color": colour, "size": size, "opacity": opacity},
        "hovertemplate": f"{name}: (%{{x:.3g}}, %{{y:.3g}})<extra></extra>",
    }


def lines(x: Any, y: Any, colour: str, width: float, **more: Any) -> dict[str, Any]:
    """A line through points, which ends where one of them is None; `more` as Plotly names it."""
    look = {"color": colour, "width": width}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": look, **more}


def memory_figure(
    texts_HW: Sequence[Sequence[str]], chosen: Area, cell: float, size: float = 14, label: str = ""
) -> Figure:
    """A memory with the items of the chosen area lit.

    Args:
        cell: side of a cell in pixels; size: of the letters.
        label: what is shown of an item under the pointer, with {number}, counted from 1, and
            {text}; without it the items cannot be clicked.
    """
    columns = len(texts_HW[0])
    board = Board(-0.05, -0.05, columns + 0.05, len(texts_HW) + 0.05, cell)
    for row, texts in enumerate(texts_HW):
        for column, text in enumerate(texts):
            board.item(column, row, text, holds(chosen, row, column), size=size)
            if label:
                item = row * columns + column
                board.hit(column, row, label.format(number=item + 1, text=text), item)
    return board.figure()


def draw_weights(
    board: Board,
    grid: AreaGrid,
    weights: Floats,
    logits: Floats,
    outlined: Area,
    name: Callable[[Area], str],
) -> None:
    """A staircase of all spans, the longest on top, each with its weight in its cell.

    Args:
        name: says what an area holds, which is shown with its logit under the pointer.
    """
    for number, area in enumerate(areas_of(grid)):
        x = area.left
        y = grid.max_width - area.width
        # Even the lightest area has some colour, so that its cell can be seen.
        strength = 0.1 + 0.85 * float(weights[number] / weights.max())
        edge = ORANGE if area == outlined else None
        ink = PAPER if strength > 0.85 else None
        text = f"{weights[number]:.3f}"
        board.box(x, y, tint(BLUE, strength), text, ink=ink, size=13, edge=edge)
        board.hit(x, y, f"{name(area)}: logit {plain(logits[number])}", number)


def versions_figure(printed: Version, repaired: Version) -> Figure:
    """The numbers of a misprint beside those of its repair."""
    rows, columns = printed[0].shape
    board = Board(-0.05, -0.7, 2 * columns + 0.85, rows + 0.05, cell=46)
    sides = (
        ("as printed", VERMILION, printed, 0.0),
        ("as implemented", BLUE, repaired, columns + 0.8),
    )
    for name, colour, (values_HW, lit_HW), left in sides:
        for (row, column), value in np.ndenumerate(values_HW):
            fill = tint(colour, 0.45) if lit_HW[row, column] else QUIET
            board.box(left + column, row, fill, f"{value:g}")
        board.text(left + columns / 2, -0.35, name)
    return board.figure()


def _rounded(left: float, top: float, right: float, bottom: float) -> str:
    """A rectangle with rounded corners, as a path of SVG."""
    # A cell narrower than two corners, such as a short bar, gets smaller ones.
    r = min(0.1, (right - left) / 2, (bottom - top) / 2)
    edges = {"left": left, "top": top, "right": right, "bottom": bottom}
    corners = {"l": left + r, "t": top + r, "r": right - r, "b": bottom - r}
    return _ROUNDED.format(**edges, **corners)
