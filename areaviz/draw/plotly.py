"""The screen renderer: it draws the marks of a plot with Plotly.

`ScreenPen` draws each kind of mark, and `draw_on_screen` draws a whole plot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np
from plotly.basedatatypes import BaseTraceType
from plotly.graph_objects import Bar, Figure, Heatmap, Scatter

from areaviz.draw.labels import escape
from areaviz.draw.marks import (
    Axis,
    Bars,
    Cells,
    Frame,
    Hover,
    Image,
    Mark,
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
from areaviz.draw.pictures import Box, encode_matrix, shrink_to_fit, to_data_uri
from areaviz.draw.theme import (
    CLEAR,
    DIVERGING_STOPS,
    EDGE,
    HOVER,
    SCREEN_FONT,
    SEQUENCE_STOPS,
    Layout,
    axis,
    choose_screen_labels,
    compute_label_depth,
    count_decimals,
    format_factor,
    make_legend,
    make_screen_ticks,
    make_unseen_axis,
    scale_step,
    screen_figure,
)

# Marks on screen: draws each kind of mark with Plotly.


BOLD = 600
"""Font weight of bold texts."""
_HOVER = "%{hovertext}<extra></extra>"


def escape_lines(text: str) -> str:
    """Escape a text for Plotly, with its line breaks."""
    return escape(text).replace("\n", "<br>")


def line_of(stroke: Stroke) -> Layout:
    """Return the line settings of a stroke."""
    line: Layout = {"color": stroke.colour, "width": stroke.width[0]}
    return line if stroke.dash == "solid" else line | {"dash": stroke.dash}


@dataclass(slots=True, eq=False)
class ScreenParts:
    """The parts of a Plotly figure. They are collected first, because changing a figure is slow."""

    plot: Plot
    traces: list[BaseTraceType] = field(default_factory=list)
    # Images, shapes and annotations.
    lists: dict[str, list[Layout]] = field(default_factory=dict)
    axes: dict[str, Layout] = field(default_factory=dict)
    # All labels of each horizontal axis.
    labels: dict[str, Sequence[str]] = field(default_factory=dict)
    # Space in px for labels above and below the panels.
    above: float = 0
    below: float = 0

    def add(self, kind: str, part: Layout) -> None:
        """Add an image, a shape or an annotation to the layout."""
        self.lists.setdefault(kind, []).append(part)


@dataclass(frozen=True, slots=True, eq=False)
class ScreenPen:
    """Draws the marks of one panel."""

    parts: ScreenParts
    panel: Panel
    # "" for the first pair of axes, "2" for the second, and so on.
    number: str

    def draw(self, mark: Mark) -> None:
        """Draw one mark."""
        match mark:
            case Cells():
                self._trace(self._cells(mark))
            case Raster():
                self._raster(mark)
            case Image():
                self._image(mark)
            case Bars():
                self._trace(self._bars(mark))
            case Path():
                self._path(mark)
            case Points():
                if mark.size[0]:
                    self._trace(self._points(mark))
            case Texts(grounds=()):
                self._trace(self._texts(mark))
            case Texts():
                self._grounded(mark)
            case Frame():
                corner: Layout = {"x0": mark.left, "y0": mark.top}
                corner |= {"x1": mark.left + mark.width, "y1": mark.top + mark.height}
                if mark.fill:
                    corner |= {"fillcolor": mark.fill, "layer": "below"}
                self._shape("rect", mark.stroke, corner)
            case Rule():
                assert self.panel.down.ends is not None
                start, end = sorted(self.panel.down.ends)
                ends: Layout = {"x0": mark.x, "x1": mark.x, "y0": start, "y1": end}
                self._shape("line", mark.stroke, ends)
            case Hover():
                self._trace(self._hover(mark))
            case _:
                assert_never(mark)

    def _trace(self, trace: BaseTraceType) -> None:
        if self.number:
            trace.update(xaxis=f"x{self.number}", yaxis=f"y{self.number}")
        self.parts.traces.append(trace)

    @property
    def _references(self) -> Layout:
        return {"xref": f"x{self.number}", "yref": f"y{self.number}"}

    def _shape(self, kind: str, stroke: Stroke, ends: Layout) -> None:
        references = self._references if self.number else {}
        self.parts.add("shapes", {"type": kind, "line": line_of(stroke)} | ends | references)

    def _cells(self, mark: Cells) -> Heatmap:
        rows = len(mark.values)
        place: Layout = {"x0": mark.left + 0.5, "dx": 1, "y0": mark.top + 0.5, "dy": 1}
        if len(mark.edges):
            place = {"x": mark.edges, "y": (np.arange(rows + 1) + mark.top).tolist()}
        return Heatmap(
            z=mark.values,
            **place,
            text=[[escape_lines(text) for text in row] for row in mark.hovers],
            hovertemplate=HOVER,
            coloraxis="coloraxis",
            xgap=mark.gap[0],
            ygap=mark.gap[0],
        )

    def _raster(self, mark: Raster) -> None:
        scale = self.parts.plot.scale
        assert scale is not None
        source = encode_matrix(mark.values, scale.top, scale.is_signed)
        self._place(source, mark.box, "stretch")
        # An image has no colour bar, so add an invisible point that has one.
        left, top, _, _ = mark.box
        point = {"coloraxis": "coloraxis", "color": [0], "opacity": 0}
        self._trace(Scatter(x=[left], y=[top], mode="markers", marker=point, hoverinfo="skip"))

    def _image(self, mark: Image) -> None:
        pixels = mark.pixels
        if mark.longest is not None:
            pixels = shrink_to_fit(pixels, mark.longest)
        sizing = "contain" if mark.is_whole else "stretch"
        self._place(to_data_uri(pixels), mark.box, sizing, mark.across, mark.down)

    def _place(
        self, source: str, box: Box, sizing: str, across: str = "left", down: str = "top"
    ) -> None:
        """Add an image that is aligned to a side of a box or to its centre."""
        left, top, right, bottom = box
        image: Layout = {
            "source": source,
            "x": {"left": left, "center": (left + right) / 2, "right": right}[across],
            "y": {"top": top, "middle": (top + bottom) / 2, "bottom": bottom}[down],
            "sizex": abs(right - left),
            "sizey": abs(bottom - top),
            "xanchor": across,
            "yanchor": down,
            "sizing": sizing,
            "layer": "below",
        }
        self.parts.add("images", image | self._references)

    def _bars(self, mark: Bars) -> Bar:
        line: Layout = {"width": 0} if mark.edge is None else line_of(mark.edge)
        names = ("x", "y") if mark.is_upright else ("y", "x")
        places = dict(zip(names, (mark.at, mark.lengths), strict=True))
        look: Layout = {"color": mark.colour, "opacity": mark.opacity, "line": line}
        return Bar(
            **places,
            base=mark.base if np.any(mark.base) else None,
            orientation="v" if mark.is_upright else "h",
            width=mark.width,
            marker=look,
            **self._hovers(mark.hovers),
            **self._name(mark.name),
        )

    def _path(self, mark: Path) -> None:
        for stroke in filter(None, (mark.casing, mark.stroke)):
            line = line_of(stroke)
            if mark.is_curve:
                # By default Plotly simplifies lines, which would straighten the curves.
                line["simplify"] = False
            seen = {"text": escape_lines(mark.hover), "hovertemplate": HOVER}
            is_named = stroke is mark.stroke
            self._trace(
                Scatter(
                    x=mark.x if len(mark.x) else [None],
                    y=mark.y if len(mark.y) else [None],
                    mode="lines",
                    line=line,
                    opacity=stroke.opacity,
                    **(seen if mark.hover else {"hoverinfo": "skip"}),
                    **self._name(mark.name if is_named else ""),
                )
            )

    def _points(self, mark: Points) -> Scatter:
        line = {"color": mark.edges or mark.edge.colour, "width": mark.edge.width[0]}
        marker: Layout = {"size": mark.size[0], "symbol": mark.symbol, "line": line}
        if mark.values is not None:
            marker |= {"color": mark.values, "coloraxis": "coloraxis"}
        else:
            marker["color"] = mark.colour
        texts: Layout = {}
        if mark.texts:
            inside = {"size": SCREEN_FONT, "weight": BOLD, "color": mark.text_colour or None}
            sides = [f"{down} {across}" for down, across in mark.sides]
            beside = {"textposition": sides, "textfont": {"size": 13}}
            texts = {"text": mark.texts, **(beside if sides else {"textfont": inside})}
        return Scatter(
            x=mark.x,
            y=mark.y,
            mode="markers+text" if mark.texts else "markers",
            marker=marker,
            opacity=mark.opacity,
            cliponaxis=False if mark.may_overhang else None,
            legendrank=mark.rank or None,
            **texts,
            **self._hovers(mark.hovers),
            **self._name(mark.name),
        )

    def _texts(self, mark: Texts) -> Scatter:
        font: Layout = {"size": mark.size[0]}
        if mark.is_bold:
            font["weight"] = BOLD
        if mark.colours:
            font["color"] = mark.colours
        return Scatter(
            x=mark.x,
            y=mark.y,
            mode="text",
            text=[escape_lines(text) for text in mark.texts],
            textposition=mark.side or None,
            textfont=font,
            opacity=mark.opacity,
            hoverinfo="skip",
            cliponaxis=False if mark.may_overhang else None,
            **self._name(""),
        )

    def _grounded(self, mark: Texts) -> None:
        """Draw texts on coloured backgrounds."""
        parts = zip(mark.x, mark.y, mark.texts, mark.colours, mark.grounds, strict=True)
        for x, y, text, colour, ground in parts:
            font = {"color": colour, "size": mark.size[0]}
            look: Layout = {"text": escape_lines(text), "font": font, "bgcolor": ground}
            place: Layout = {"x": x, "y": y, "showarrow": False} | self._references
            self.parts.add("annotations", look | place)

    def _hover(self, mark: Hover) -> Scatter:
        return Scatter(
            x=mark.x,
            y=mark.y,
            mode="markers",
            marker={"opacity": 0, "size": mark.size},
            text=[escape_lines(text) for text in mark.texts],
            hovertemplate=HOVER,
            customdata=mark.clicked or None,
            **self._name(""),
        )

    def _hovers(self, hovers: Sequence[str]) -> Layout:
        if not hovers:
            return {"hoverinfo": "skip"}
        return {"hovertext": [escape_lines(text) for text in hovers], "hovertemplate": _HOVER}

    def _name(self, name: str) -> Layout:
        """Return the settings of an entry in the key. The key leaves out marks without a name."""
        if name:
            return {"name": escape(name)}
        return {} if self.parts.plot.key is None else {"showlegend": False}


# A whole plot on screen: axes, colour bar, legend and marks.


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
    figure = screen_figure(plot.drawing, height, above, below, across, down, parts.labels, **layout)
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
        place = {"x": (left + right) / 2, "y": top, "xanchor": "center", "yanchor": "bottom"}
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
