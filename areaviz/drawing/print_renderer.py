"""Print renderer: draws the marks of a plot with matplotlib."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedFormatter, FixedLocator, MultipleLocator, PercentFormatter

from areaviz.drawing.axes import print_labels
from areaviz.drawing.labels import Ticks, replace_undrawable
from areaviz.drawing.marks import Axis, Bars, Key, Named, Panel, Path, Plot, Scale
from areaviz.drawing.print_marks import PrintPen, Style, make_edge, to_print_colour
from areaviz.drawing.theme import (
    PRINT_FONT,
    PRINT_RULE,
    count_decimals,
    format_factor,
    print_figure,
    remove_frame,
    scale_step,
)

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
        _add_bar(
            figure,
            panels[0],
            plot.scale,
            pen,
            height,
        )
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
            text.set(
                rotation=shown.angle,
                rotation_mode="anchor",
                ha=side,
                va="center",
            )


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
    bar = figure.colorbar(
        values,
        ax=axes,
        pad=0.015,
        aspect=28,
        fraction=0.04,
        **ticks,
    )
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
    return Line2D(
        [],
        [],
        label=label,
        color=str(mark.colour),
        **circle,
    )


def _draw_key(axes: Axes, key: Key, handles: list[Artist]) -> None:
    """Draw the key: above or below the first panel, or to its right."""
    font: Style = {"fontsize": PRINT_FONT, "frameon": False}
    places: dict[str, Style] = {
        "above": {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1),
            "ncols": 2,
            "borderaxespad": 0.1,
        },
        "below": {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 8},
        "right": {"loc": "center left", "bbox_to_anchor": (1.02, 0.5)},
    }
    titled: Style = {"title": key.title, "title_fontsize": PRINT_FONT}
    axes.legend(handles=handles, **places[key.side], **font, **titled)
