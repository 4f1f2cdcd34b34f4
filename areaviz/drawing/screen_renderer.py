"""Screen renderer: draws the marks of a plot with Plotly."""

from __future__ import annotations

from collections.abc import Iterator

from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.drawing.axes import (
    choose_screen_labels,
    compute_label_depth,
    make_legend,
    make_screen_ticks,
)
from areaviz.drawing.marks import Axis, Panel, Plot, Scale
from areaviz.drawing.screen_marks import BOLD, ScreenParts, ScreenPen, escape_lines
from areaviz.drawing.theme import (
    CLEAR,
    DIVERGING_STOPS,
    EDGE,
    SCREEN_FONT,
    SEQUENCE_STOPS,
    Layout,
    axis,
    count_decimals,
    format_factor,
    make_unseen_axis,
    scale_step,
    screen_figure,
)

_LOW = 130
"""Height in px below which a colour bar has three ticks."""


def draw_on_screen(plot: Plot) -> Figure:
    """Draw a plot with Plotly."""
    parts = ScreenParts(plot)
    for place, panel in enumerate(plot.panels, start=1):
        number = "" if place == 1 else str(place)
        pen = ScreenPen(parts, panel, number)
        for mark in panel.marks:
            pen.draw(mark)
        _set_axes(parts, panel, number)
    across, down = parts.axes.pop("xaxis"), parts.axes.pop("yaxis")
    layout: Layout = {**parts.lists, **parts.axes}
    if plot.scale is not None:
        layout["coloraxis"] = _make_colour_scale(plot.scale, plot.height[0])
    if plot.key is not None:
        quiet = {"itemclick": False, "itemdoubleclick": False, "bgcolor": CLEAR}
        y = 1 if plot.key.side == "above" else 0
        layout |= {"showlegend": True, "legend": make_legend(y, **quiet)}
    if any(isinstance(one, Bar) for one in parts.traces):
        layout |= {"barmode": "overlay"}
    height, _ = plot.height
    above, below = plot.above + parts.above, plot.below + parts.below
    figure = screen_figure(
        plot.drawing,
        height,
        above,
        below,
        across,
        down,
        parts.labels,
        **layout,
    )
    if plot.panels[0].right is not None:
        # Leave space for the texts at the right, and to their right for the colour scale.
        figure.layout.margin.r = 112
        figure.layout.coloraxis.colorbar.update(x=1, xanchor="left", xpad=52)
    return figure.add_traces(parts.traces)


def _make_colour_scale(scale: Scale, height: float) -> Layout:
    """Return the colour scale, with ticks in per cent, or at factors such as "4×" and "1/4"."""
    top = scale.top
    bar: Layout = {
        "title": {"text": scale.unit, "side": "right", "font": {"size": SCREEN_FONT}},
        "thickness": 10,
        "outlinewidth": 0,
        "tickfont": {"size": SCREEN_FONT},
    }
    if scale.is_signed:
        steps = range(-int(top), int(top) + 1)
        bar |= {"tickvals": list(steps), "ticktext": [format_factor(step) for step in steps]}
        return {"cmin": -top, "cmax": top, "colorscale": DIVERGING_STOPS, "colorbar": bar}
    step = scale_step(top, height < _LOW if scale.is_short is None else scale.is_short)
    bar |= {"xpad": 8, "tick0": 0, "dtick": step, "tickformat": f".{count_decimals(step)}%"}
    return {"cmin": 0, "cmax": top, "colorscale": SEQUENCE_STOPS, "colorbar": bar}


def _set_axes(parts: ScreenParts, panel: Panel, number: str) -> None:
    """Set the axes of a panel.

    `number` is "" for the first panel, "2" for the second, and so on.
    """
    across = _make_axis(panel.across, panel.across.room[0])
    height, _ = parts.plot.height
    down = _make_axis(panel.down, height, is_upright=True)
    if panel.is_across_on_top:
        across["side"] = "top"
    if panel.is_square or panel.columns != (0, 1) or panel.rows != (0, 1):
        across |= {"domain": panel.columns, "anchor": f"y{number}"}
        down |= {"domain": panel.rows, "anchor": f"x{number}"}
    if panel.is_square:
        across["constrain"] = "domain"
        down |= {"constrain": "domain", "scaleanchor": f"x{number}"}
    parts.axes |= {f"xaxis{number}": across, f"yaxis{number}": down}
    _reserve(parts, panel.across, panel.is_across_on_top, f"xaxis{number}")
    if panel.upper is not None:
        upper = _make_axis(panel.upper, panel.upper.room[0])
        parts.axes["xaxis2"] = upper | {"side": "top", "overlaying": "x"}
        _reserve(parts, panel.upper, True, "")
        # Plotly draws the upper axis only if a trace uses it.
        parts.traces.append(Scatter(x=[None], y=[None], xaxis="x2", showlegend=False))
    if panel.right is not None:
        for place, text in zip(panel.right.positions, panel.right.texts, strict=True):
            parts.add("annotations", _make_text_at_right(place, text))
    for annotation in _iterate_texts_around(panel):
        parts.add("annotations", annotation)


def _reserve(parts: ScreenParts, one: Axis, is_on_top: bool, name: str) -> None:
    """Reserve space for the labels of a horizontal axis, and store the labels for other widths."""
    if one.labels is None:
        return
    room = compute_label_depth(choose_screen_labels(one.labels, one.room[0]))
    if is_on_top:
        parts.above = max(parts.above, room)
    else:
        parts.below = max(parts.below, room)
    if name and not one.is_spread and one.room == Axis().room:
        parts.labels[name] = one.labels


def _make_axis(one: Axis, room: float, is_upright: bool = False) -> Layout:
    if not one.is_seen:
        assert one.ends is not None
        return make_unseen_axis(*one.ends)
    more: Layout = {}
    if one.ends is not None:
        more["range"] = list(one.ends)
    if one.has_grid:
        more |= {"showgrid": True, "nticks": 5}
    if one.is_share:
        more |= {"tickformat": ".0%"} | ({} if one.ends else {"rangemode": "tozero"})
    elif one.has_grid:
        more |= {"zeroline": True, "zerolinecolor": EDGE}
    if one.labels is not None:
        chosen = choose_screen_labels(one.labels, room, is_upright, one.longest)
        more |= make_screen_ticks(one.placed(chosen))
    if one.ticks is not None:
        more |= {
            "tickvals": one.ticks.positions,
            "ticktext": list(map(escape_lines, one.ticks.texts)),
        }
        if not is_upright:
            more["tickangle"] = 0
    if one.has_ticks:
        more["ticks"] = "outside"
    return axis(one.title if one.screen_title is None else one.screen_title, **more)


def _iterate_texts_around(panel: Panel) -> Iterator[Layout]:
    """Yield the texts above a panel and to its right."""
    (left, right), (bottom, top) = panel.columns, panel.rows
    common = {"xref": "paper", "yref": "paper", "showarrow": False}
    if panel.title:
        font = {"size": SCREEN_FONT, "weight": BOLD}
        place = {
            "x": (left + right) / 2,
            "y": top,
            "xanchor": "center",
            "yanchor": "bottom",
        }
        yield {"text": escape_lines(panel.title), "font": font, "yshift": 3} | place | common
    if panel.aside:
        place = {"x": right + 0.04, "y": (bottom + top) / 2, "xanchor": "left"}
        place |= {"yanchor": "middle", "align": "left"}
        yield {"text": escape_lines(panel.aside), "font": {"size": SCREEN_FONT}} | place | common


def _make_text_at_right(place: float, text: str) -> Layout:
    """Return a text to the right of a panel."""
    return {
        "x": 1,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 9,
        "y": place,
        "text": escape_lines(text),
        "showarrow": False,
        "font": {"size": SCREEN_FONT, "weight": 700},
    }
