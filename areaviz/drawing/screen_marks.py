"""Marks on screen: draws each kind of mark with Plotly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np
from plotly.basedatatypes import BaseTraceType
from plotly.graph_objects import Bar, Heatmap, Scatter

from areaviz.drawing.axes import HOVER
from areaviz.drawing.labels import escape
from areaviz.drawing.marks import (
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
    Stroke,
    Texts,
)
from areaviz.drawing.pictures import Box, encode_matrix, shrink_to_fit, to_data_uri
from areaviz.drawing.theme import SCREEN_FONT, Layout

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
                ends: Layout = {
                    "x0": mark.x,
                    "x1": mark.x,
                    "y0": start,
                    "y1": end,
                }
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
        place: Layout = {
            "x0": mark.left + 0.5,
            "dx": 1,
            "y0": mark.top + 0.5,
            "dy": 1,
        }
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
        self._trace(
            Scatter(
                x=[left],
                y=[top],
                mode="markers",
                marker=point,
                hoverinfo="skip",
            )
        )

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
