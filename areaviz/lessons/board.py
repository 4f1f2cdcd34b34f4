"""A board of cells: what most pictures of the teaching page are drawn on.

Coordinates are in cells, x to the right and y downwards, so that pictures read like the arrays they
show. Colours are Okabe and Ito's; the background stays clear and unlit text takes the page's
colour, so one picture serves the light and the dark theme.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from plotly.graph_objects import Figure

from areaviz.drawing.theme import CLEAR, HEAD_COLOURS

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = HEAD_COLOURS[:6]
GREY = "#808080"
INK, PAPER = "#1A1A1A", "#FFFFFF"
"""Text on a bright and on a dark cell, in either theme."""
Picture = Figure
"""What every picture is; for signatures where plotly itself is not imported."""
COLUMN, PAGE = 372.0, 600.0
"""Pixels a picture may count on, in a column of its own or across the page, on a narrow screen."""


def tint(colour: str, opacity: float) -> str:
    """A hex colour made see-through, opacity 0..1."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:.3g})"


QUIET = tint(GREY, 0.16)


@dataclass(slots=True)
class Board:
    """Collects cells, texts and places to click, then makes one figure of them.

    left, top, right, bottom: what is shown, in cells. cell: side of a cell in pixels, where `room`
    pixels of width allow it.
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
        self, x: float, y: float, fill: str = QUIET, text: str = "", *, ink: str | None = None,
        width: float = 1, height: float = 1, size: float = 14, edge: str | None = None,
    ) -> None:  # fmt: skip
        """A cell with its text; `ink` None takes the theme's text colour, `edge` draws
        an outline.
        """
        path = _rounded(x + 0.04, y + 0.04, x + width - 0.04, y + height - 0.04)
        line = {"color": edge or fill, "width": 2.5 if edge else 0}
        self._shapes.append(
            {"type": "path", "path": path, "fillcolor": fill, "line": line, "layer": "below"}
        )
        if text:
            self.text(x + width / 2, y + height / 2, text, size=size, ink=ink)

    def text(
        self, x: float, y: float, text: str, *, size: float = 12, ink: str | None = None, anchor: str = "center",
        turned: bool = False,
    ) -> None:  # fmt: skip
        """Text at a place; `anchor` says which end of it lies there: "left", "center"
        or "right".
        """
        font = {"size": size} | ({"color": ink} if ink else {})
        self._texts.append(
            {
                "x": x,
                "y": y,
                "text": text,
                "showarrow": False,
                "xanchor": anchor,
                "yanchor": "middle",
            }
            | {"font": font, "borderpad": 0, "textangle": -90 if turned else 0}
        )

    def hit(self, x: float, y: float, label: str, number: int) -> None:
        """A place that shows `label` under the pointer and reports `number` when clicked."""
        self._hits.append((x, y, label, number))

    def figure(self) -> Figure:
        """The picture: cells square, no axes, as tall as its cells need."""
        columns, rows = self.right - self.left, self.bottom - self.top
        cell = min(self.cell, self.room / columns)
        return Figure(
            data=[self._markers(cell)] if self._hits else [], layout=self._layout(rows * cell)
        )

    def _layout(self, height: float) -> dict[str, Any]:
        axis = {"visible": False, "fixedrange": True, "showgrid": False, "zeroline": False}
        return base_layout(height) | {
            "shapes": self._shapes,
            "annotations": self._texts,
            "xaxis": axis | {"range": [self.left, self.right], "constrain": "domain"},
            "yaxis": (
                axis | {"range": [self.bottom, self.top], "scaleanchor": "x", "constrain": "domain"}
            ),
        }

    def _markers(self, cell: float) -> dict[str, Any]:
        x, y, labels, numbers = (list(column) for column in zip(*self._hits, strict=True))
        return hit_trace(x, y, labels, numbers, cell)


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


def hit_trace(
    x: list[float], y: list[float], labels: list[str], numbers: list[int], size: float
) -> dict[str, Any]:
    """Invisible markers that answer hover and click: a heat map's own cells cannot be selected."""
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
        "selected": unseen,
        "unselected": unseen,
    }


def _rounded(left: float, top: float, right: float, bottom: float, radius: float = 0.1) -> str:
    r = min(radius, (right - left) / 2, (bottom - top) / 2)
    return (
        f"M{left + r:.3f},{top:.3f} L{right - r:.3f},{top:.3f} Q{right:.3f},{top:.3f}"
        f" {right:.3f},{top + r:.3f} L{right:.3f},{bottom - r:.3f} Q{right:.3f},{bottom:.3f}"
        f" {right - r:.3f},{bottom:.3f} L{left + r:.3f},{bottom:.3f} Q{left:.3f},{bottom:.3f}"
        f" {left:.3f},{bottom - r:.3f} L{left:.3f},{top + r:.3f} Q{left:.3f},{top:.3f}"
        f" {left + r:.3f},{top:.3f} Z"
    )
