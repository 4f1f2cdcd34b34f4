"""The print renderer: it draws the marks of a plot with matplotlib.

`PrintPen` draws each kind of mark, and `draw_in_print` draws a whole plot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, MultipleLocator, PercentFormatter

from areaviz.draw.labels import Ticks, replace_undrawable
from areaviz.draw.marks import (
    Axis,
    Bars,
    Cells,
    Frame,
    Hover,
    Image,
    Key,
    Mark,
    Named,
    Panel,
    Path,
    Plot,
    Points,
    Raster,
    Rule,
    Scale,
    Stroke,
    Texts,
)
from areaviz.draw.pictures import CELLS, Box
from areaviz.draw.theme import (
    CLEAR,
    DIVERGING,
    EDGE,
    PRINT_EDGE,
    PRINT_FONT,
    PRINT_RULE,
    SEQUENCE,
    count_decimals,
    format_factor,
    print_figure,
    print_labels,
    remove_frame,
    scale_step,
)

# Marks in print: draws each kind of mark with matplotlib.


Style = dict[str, Any]
"""Keyword arguments of matplotlib that set a style."""
_INKS = {EDGE: PRINT_EDGE, CLEAR: "none"}
"""Screen colours that have a different colour in print."""
_DASHES = {"solid": "-", "dash": "--", "dot": ":"}
_SYMBOLS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X"}
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
            self._raster(axes, mark.values, across[0], down[0], across[-1], down[-1])
            return
        norm, colours = self.colours()
        gap: Style = {"edgecolors": "white", "linewidth": mark.gap[1]} if mark.gap[1] else {}
        mesh = axes.pcolormesh(across, down, mark.values, cmap=colours, norm=norm, **gap)
        mesh.set_rasterized(is_large)

    def _raster(
        self, axes: Axes, values: np.ndarray, left: float, top: float, right: float, bottom: float
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
    bars = draw(mark.at, mark.lengths, mark.width, mark.base, color=mark.colour)
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
        axes.text(x, y, replace_undrawable(text), color=colours[number], **aligned, **ground)


# A whole plot in print: axes, colour bar, legend and marks.


_LOW = 1.0
"""Height in inches below which a colour bar has three ticks."""


def draw_in_print(plot: Plot) -> PrintFigure:
    """Draw a plot with matplotlib."""
    _, height = plot.height
    figure, whole = print_figure(plot.drawing, height)
    pen = PrintPen(plot.scale)
    panels = [whole]
    if len(plot.panels) > 1:
        whole.remove()
        widths = [panel.columns[1] - panel.columns[0] for panel in plot.panels]
        panels = list(figure.subplots(1, len(widths), width_ratios=widths))
    for axes, panel in zip(panels, plot.panels, strict=True):
        remove_frame(axes)
        for mark in panel.marks:
            pen.draw(axes, mark, panel.is_square)
        _set_axes(axes, panel, height)
    if plot.scale is not None:
        _add_bar(figure, panels[0], plot.scale, pen, height)
    if plot.key is not None:
        _draw_key(panels[0], plot.key, [_make_handle(mark) for mark in plot.named])
    return figure


def _set_axes(axes: Axes, panel: Panel, height: float) -> None:
    """Set ticks, titles and ends of all axes of a panel."""
    across, down = panel.across, panel.down
    _set_ends(axes.set_xlim, across)
    _set_ends(axes.set_ylim, down)
    _set_across(axes, across, panel.is_across_on_top)
    _set_down(axes, down, height)
    axes.set_xlabel(across.title, fontsize=8)
    axes.set_ylabel(down.title, fontsize=8)
    if panel.is_square:
        axes.set_aspect("equal")
    if panel.title:
        axes.set_title(panel.title, fontsize=8, fontweight="bold")
    if panel.aside:
        axes.set_xlabel(panel.aside, fontsize=6.5, loc="left")
    if panel.upper is not None:
        upper = axes.twiny()
        remove_frame(upper)
        _set_ends(upper.set_xlim, panel.upper)
        _set_across(upper, panel.upper, is_on_top=True)
        upper.set_xlabel(panel.upper.title, fontsize=8)
    if panel.right is not None:
        totals = axes.secondary_yaxis("right")
        totals.set_yticks(panel.right.positions, panel.right.texts)
        remove_frame(totals)


def _set_ends(limit: Callable[..., object], one: Axis) -> None:
    ends = one.print_ends or one.ends
    if ends is not None:
        limit(*ends)


def _set_across(axes: Axes, one: Axis, is_on_top: bool) -> None:
    if not one.is_seen:
        axes.set_xticks([])
    if one.labels is not None:
        _label_across(axes, one.placed(print_labels(one.labels, one.room[1])), is_on_top)
    if one.ticks is not None:
        axes.set_xticks(one.ticks.positions, [replace_undrawable(text) for text in one.ticks.texts])


def _set_down(axes: Axes, one: Axis, height: float) -> None:
    if not one.is_seen:
        axes.set_yticks([])
    if one.labels is not None:
        shown = print_labels(one.labels, 72 * height, True, one.longest)
        axes.set_yticks(shown.positions, shown.texts)
    if one.ticks is not None:
        texts = [replace_undrawable(text) for text in one.ticks.texts]
        axes.set_yticks(one.ticks.positions, texts)
        axes.tick_params(axis="y", labelsize=min(PRINT_FONT, 50 * height / max(len(texts), 1)))
    if one.has_grid:
        axes.grid(axis="y", color=PRINT_RULE, linewidth=0.6)
        axes.set_axisbelow(True)
    if one.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1, 0))


def _label_across(axes: Axes, shown: Ticks, top: bool) -> None:
    """Set the labels of a horizontal axis, below or above the plot."""
    axes.set_xticks(shown.positions, shown.texts)
    if top:
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.tick_params(length=0)
    if shown.angle:
        side = "left" if top else "right"
        for text in axes.get_xticklabels():
            text.set(rotation=shown.angle, rotation_mode="anchor", ha=side, va="center")


def _add_bar(figure: PrintFigure, axes: Axes, scale: Scale, pen: PrintPen, height: float) -> None:
    """Draw the colour bar, in per cent or as factors."""
    norm, colours = pen.colours()
    ticks: Style = {}
    if scale.is_signed:
        steps = range(-int(scale.top), int(scale.top) + 1)
        ticks["ticks"] = FixedLocator(list(steps))
        ticks["format"] = FixedFormatter([format_factor(step) for step in steps])
    else:
        is_short = height < _LOW if scale.is_short is None else scale.is_short
        step = scale_step(scale.top, is_short)
        ticks["ticks"] = MultipleLocator(step)
        ticks["format"] = PercentFormatter(1, count_decimals(step))
    values = ScalarMappable(norm, colours)
    bar = figure.colorbar(values, ax=axes, pad=0.015, aspect=28, fraction=0.04, **ticks)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=PRINT_FONT)
    bar.set_label(scale.unit, fontsize=PRINT_FONT)


def _make_handle(mark: Named) -> Artist:
    """Return the entry of a mark in the key."""
    label = replace_undrawable(mark.name)
    if isinstance(mark, Bars):
        return Patch(facecolor=str(mark.colour), label=label, **make_edge(mark.edge))
    if isinstance(mark, Path):
        return Line2D([], [], label=label, color=mark.stroke.colour)
    edge: Style = {
        "markeredgecolor": to_print_colour(mark.edge.colour),
        "markeredgewidth": mark.edge.width[1],
    }
    circle: Style = {"linestyle": "", "marker": "o", "markersize": 6} | edge
    return Line2D([], [], label=label, color=str(mark.colour), **circle)


def _draw_key(axes: Axes, key: Key, handles: list[Artist]) -> None:
    """Draw the key: above or below the first panel, or to its right."""
    font: Style = {"fontsize": PRINT_FONT, "frameon": False}
    places: dict[str, Style] = {
        "above": {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 2, "borderaxespad": 0.1},
        "below": {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 8},
        "right": {"loc": "center left", "bbox_to_anchor": (1.02, 0.5)},
    }
    titled: Style = {"title": key.title, "title_fontsize": PRINT_FONT}
    axes.legend(handles=handles, **places[key.side], **font, **titled)
