"""Marks in print: draws each kind of mark with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle

from areaviz.drawing.labels import replace_undrawable
from areaviz.drawing.marks import (
    Bars,
    Cells,
    Frame,
    Hover,
    Image,
    Mark,
    Path,
    Points,
    Raster,
    Rule,
    Scale,
    Stroke,
    Texts,
)
from areaviz.drawing.pictures import CELLS, Box
from areaviz.drawing.theme import CLEAR, DIVERGING, EDGE, PRINT_EDGE, PRINT_FONT, SEQUENCE

Style = dict[str, Any]
"""Keyword arguments of matplotlib that set a style."""
_INKS = {EDGE: PRINT_EDGE, CLEAR: "none"}
"""Screen colours that have a different colour in print."""
_DASHES = {"solid": "-", "dash": "--", "dot": ":"}
_SYMBOLS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "x": "X",
}
_MOST_CELLS = 2500
"""Maximum number of cells drawn one by one, so that vector files stay small."""


def to_print_colour(colour: str) -> str:
    """Return the colour in print."""
    return _INKS.get(colour, colour)


def line_of(stroke: Stroke) -> Style:
    """Return the line settings of a stroke."""
    return {
        "color": to_print_colour(stroke.print_colour or stroke.colour),
        "linewidth": stroke.width[1],
        "linestyle": _DASHES[stroke.dash],
        "alpha": stroke.opacity,
    }


def make_edge(stroke: Stroke | None) -> Style:
    """Return the settings of the outline of a filled shape."""
    if stroke is None:
        return {}
    return {
        "edgecolor": to_print_colour(stroke.print_colour or stroke.colour),
        "linewidth": stroke.width[1],
    }


@dataclass(frozen=True, slots=True)
class PrintPen:
    """Draws marks on axes."""

    scale: Scale | None

    def colours(self) -> tuple[Normalize, Colormap]:
        """Return the colour scale."""
        assert self.scale is not None, "values need a scale"
        top = self.scale.top
        if self.scale.is_signed:
            return Normalize(-top, top), DIVERGING
        return Normalize(0, top), SEQUENCE

    def draw(self, axes: Axes, mark: Mark, is_square: bool) -> None:
        """Draw one mark.

        Args:
            axes: the axes.
            mark: the mark.
            is_square: whether a unit of both axes has the same length, see `Panel`.
        """
        match mark:
            case Cells():
                self._cells(axes, mark)
            case Raster():
                values = mark.values if mark.print_values is None else mark.print_values
                self._raster(axes, values, *mark.box)
            case Image():
                _draw_image(
                    axes, mark, _get_filled_part(mark) if mark.is_whole and is_square else mark.box
                )
            case Bars():
                _draw_bars(axes, mark)
            case Path():
                _draw_path(axes, mark)
            case Points():
                self._points(axes, mark)
            case Texts():
                _draw_texts(axes, mark)
            case Frame():
                _draw_frame(axes, mark)
            case Rule():
                axes.axvline(mark.x, **line_of(mark.stroke))
            case Hover():
                pass  # Paper has no pointer.
            case _:
                assert_never(mark)

    def _cells(self, axes: Axes, mark: Cells) -> None:
        rows, columns = mark.values.shape
        across = np.asarray(mark.edges or np.arange(columns + 1) + mark.left)
        down = np.arange(rows + 1) + mark.top
        is_large = mark.values.size > _MOST_CELLS or max(rows, columns) > CELLS
        # The columns of a picture have equal widths.
        if is_large and not mark.edges:
            self._raster(
                axes,
                mark.values,
                across[0],
                down[0],
                across[-1],
                down[-1],
            )
            return
        norm, colours = self.colours()
        gap: Style = {"edgecolors": "white", "linewidth": mark.gap[1]} if mark.gap[1] else {}
        mesh = axes.pcolormesh(
            across,
            down,
            mark.values,
            cmap=colours,
            norm=norm,
            **gap,
        )
        mesh.set_rasterized(is_large)

    def _raster(
        self,
        axes: Axes,
        values: np.ndarray,
        left: float,
        top: float,
        right: float,
        bottom: float,
    ) -> None:
        norm, colours = self.colours()
        axes.imshow(
            values,
            colours,
            norm,
            aspect="auto",
            interpolation="nearest",
            extent=(left, right, bottom, top),
        )

    def _points(self, axes: Axes, mark: Points) -> None:
        diameter = mark.size[1]
        if not diameter:
            return
        if mark.texts and not mark.sides:
            _draw_badges(axes, mark)
            return
        edges = [to_print_colour(colour) for colour in mark.edges] or to_print_colour(
            mark.edge.colour
        )
        colours: Style = {"facecolors": to_print_colour(str(mark.colour))}
        if mark.values is not None:
            norm, cmap = self.colours()
            colours = {"c": mark.values, "cmap": cmap, "norm": norm}
        axes.scatter(
            mark.x,
            mark.y,
            diameter**2,
            **colours,
            marker=_SYMBOLS[mark.symbol],
            edgecolors=edges,
            linewidths=mark.edge.width[1],
            alpha=mark.opacity,
            clip_on=not mark.may_overhang,
            zorder=3,
        )
        away = {"left": -4, "center": 0, "right": 4}
        other = {"left": "right", "center": "center", "right": "left"}
        places = zip(mark.texts, mark.x, mark.y, mark.sides, strict=False)
        for text, x, y, (down, across) in places:
            axes.annotate(
                text,
                (x, y),
                (away[across], 5 if down == "top" else -5),
                textcoords="offset points",
                ha=other[across],
                va="bottom" if down == "top" else "top",
                fontsize=PRINT_FONT,
            )


def _draw_badges(axes: Axes, mark: Points) -> None:
    """Draw texts in filled circles."""
    circle = {"boxstyle": "circle,pad=0.25", "facecolor": mark.colour} | make_edge(mark.edge)
    for text, x, y in zip(mark.texts, mark.x, mark.y, strict=True):
        axes.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=7,
            fontweight="bold",
            color=mark.text_colour or None,
            alpha=mark.opacity,
            bbox=circle,
        )


def _draw_image(axes: Axes, mark: Image, box: Box) -> None:
    left, top, right, bottom = box
    axes.imshow(
        mark.pixels,
        aspect="auto",
        extent=(left, right, bottom, top),
        interpolation="auto" if mark.is_smooth else "nearest",
    )


def _get_filled_part(mark: Image) -> Box:
    """Return the part of its box that an image fills on a square panel."""
    left, top, right, bottom = mark.box
    height, width = mark.pixels.shape[:2]
    scale = min((right - left) / width, (bottom - top) / height)
    wide, high = scale * width, scale * height
    starts = {"left": left, "center": (left + right - wide) / 2, "right": right - wide}
    tops = {"top": top, "middle": (top + bottom - high) / 2, "bottom": bottom - high}
    x, y = starts[mark.across], tops[mark.down]
    return x, y, x + wide, y + high


def _draw_bars(axes: Axes, mark: Bars) -> None:
    draw = axes.bar if mark.is_upright else axes.barh
    bars = draw(
        mark.at,
        mark.lengths,
        mark.width,
        mark.base,
        color=mark.colour,
    )
    opacities = np.broadcast_to(mark.opacity, len(bars)).tolist()
    for bar, opacity in zip(bars, opacities, strict=True):
        bar.set(alpha=opacity, **make_edge(mark.edge))


def _draw_path(axes: Axes, mark: Path) -> None:
    caps: Style = {"solid_capstyle": "butt"} if mark.is_curve else {}
    for stroke in filter(None, (mark.casing, mark.stroke)):
        axes.plot(mark.x, mark.y, **line_of(stroke), **caps)


def _draw_frame(axes: Axes, mark: Frame) -> None:
    stroke = line_of(mark.stroke)
    box = Rectangle(
        (mark.left, mark.top),
        mark.width,
        mark.height,
        facecolor=mark.fill or "none",
        clip_on=not mark.may_overhang,
        edgecolor=stroke.pop("color"),
        **stroke,
    )
    axes.add_patch(box)


def _draw_texts(axes: Axes, mark: Texts) -> None:
    down, _, across = mark.side.partition(" ")
    aligned: Style = {
        "ha": {"right": "left", "left": "right"}.get(across, "center"),
        "va": {"bottom": "top", "top": "bottom", "middle": "center_baseline"}.get(down, "center"),
        "fontsize": mark.size[1],
        "fontweight": "bold" if mark.is_bold else "normal",
    }
    colours: Sequence[str | None] = mark.colours or [None] * len(mark.texts)
    heights = mark.y if mark.print_y is None else mark.print_y
    for number, (x, y, text) in enumerate(zip(mark.x, heights, mark.texts, strict=True)):
        ground: Style = {}
        if mark.grounds:
            box = {"facecolor": mark.grounds[number], "edgecolor": "none", "pad": 1}
            ground = {"bbox": box}
        axes.text(
            x,
            y,
            replace_undrawable(text),
            color=colours[number],
            **aligned,
            **ground,
        )
