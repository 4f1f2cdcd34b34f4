"""How every figure looks: colours, fonts, margins, and the two ways to begin a figure (screen and print).

Nothing here knows the page's theme: text colour is left to it, backgrounds are transparent, and lines are
a grey that shows on white as on black.
"""

from __future__ import annotations

import textwrap
from math import floor, log10

import plotly.graph_objects as go
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure as PrintFigure
from matplotlib.text import Text
from plotly.graph_objects import Figure

from areaviz.views.labels import drawable, escape

# Okabe and Ito (2008), https://jfly.uni-koeln.de/color/. The first four stand out 3:1 from light and dark pages;
# the paler ones follow, and are drawn with an outline (EDGE). Darkening them would make them alike to a
# colour-blind reader, so the hues stay as published.
HEAD_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#7F7F7F")
ACCENT = HEAD_COLOURS[0]
SECOND = HEAD_COLOURS[1]
EDGE = "rgba(110,110,110,0.75)"
RULE = "rgba(128,128,128,0.28)"
CLEAR = "rgba(0,0,0,0)"
PRINT_EDGE, PRINT_RULE, PRINT_MUTED = "#6E6E6E", "#DADADA", "#4A4A4A"

SEQUENCE: ListedColormap = colormaps["viridis"]  # type: ignore[assignment]
SEQUENCE_STOPS = [[i / 8, "#{:02x}{:02x}{:02x}".format(*SEQUENCE(i / 8, bytes=True)[:3])] for i in range(9)]

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
SCREEN_FONT = 11.0  # px, of tick labels
SCREEN_WIDTH = 560.0  # px, the narrowest plot area labels are thinned for
PRINT_FONT = 7.5  # pt
PRINT_WIDTH = 6.7  # inches
PRINT_ROOM = 400.0  # pt, the narrowest plot area on paper


def head_colour(head: int) -> str:
    """The colour of a head (0-based), as "#rrggbb"; colours repeat after eight heads, so heads are also named."""
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def nice_top(value: float) -> float:
    """The end of a scale: the smallest 1, 2 or 5 times a power of ten that reaches `value`, so that scales agree."""
    if not value > 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= value * (1 - 1e-6)))


def screen(title: str, note: str, caption: str, height: float, above: float = 0, below: float = 48) -> Figure:
    """An empty plotly figure in this theme: a bold title, a note under it, `height` px of plot below both.

    above, below: px around the plot for labels. The caption travels in `layout.meta["caption"]`: the
    page sets it as text, so that it wraps and can be read aloud.
    """
    figure = Figure()
    heading = 50 if note else 34
    figure.update_layout(
        template=go.layout.Template(layout={"font": {"family": FONT, "size": SCREEN_FONT}}),
        title={
            "text": escape(title), "font": {"size": 13, "weight": 600},
            "subtitle": {"text": escape(note), "font": {"size": 11.5}},
            "x": 0, "xref": "container", "xanchor": "left", "pad": {"l": 4, "t": 8},
            "y": 1, "yref": "container", "yanchor": "top",
        },
        meta={"caption": caption},
        height=round(height + heading + above + below),
        margin={"l": 12, "r": 12, "t": heading + above, "b": below, "pad": 2},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        showlegend=False,
        hoverlabel={"align": "left", "font": {"size": 12}},
        dragmode=False,
    )  # fmt: skip
    return figure.update_xaxes(axis()).update_yaxes(axis())


def axis() -> dict[str, object]:
    """The look of a plotly axis: no ticks, no grid, labels with room."""
    return {
        "showgrid": False, "zeroline": False, "automargin": True, "fixedrange": True, "ticks": "", "gridcolor": RULE,
        "tickfont": {"size": SCREEN_FONT}, "title": {"font": {"size": 12}, "standoff": 8},
    }  # fmt: skip


def colour_axis(top: float, unit: str, tickformat: str = ".0%") -> dict[str, object]:
    """The one colour scale of a figure, 0 to `top`, with its unit written beside the bar."""
    bar = {
        "title": {"text": unit, "side": "right", "font": {"size": SCREEN_FONT}},
        "thickness": 10, "len": 1, "lenmode": "fraction", "y": 0.5, "xpad": 8, "outlinewidth": 0,
        "tickformat": tickformat, "tickfont": {"size": SCREEN_FONT}, "nticks": 5,
    }  # fmt: skip
    return {"cmin": 0, "cmax": top, "colorscale": SEQUENCE_STOPS, "colorbar": bar}


def paper(title: str, note: str, caption: str, height: float) -> tuple[PrintFigure, Axes]:
    """A matplotlib figure with `height` inches of plot: title and note above, caption below, axes without a frame."""
    figure = PrintFigure(figsize=(PRINT_WIDTH, height + 1.1), layout="constrained")
    figure.suptitle(drawable(title), x=0.012, ha="left", fontsize=9, fontweight="bold")
    lines = textwrap.fill(drawable(caption), 118)
    figure.supxlabel(lines, x=0.012, ha="left", fontsize=6.5, color=PRINT_MUTED)
    axes = figure.subplots()
    axes.set_title(drawable(note), loc="left", fontsize=PRINT_FONT, color=PRINT_MUTED)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, pad=3, labelsize=PRINT_FONT)
    return figure, axes


def finish(figure: PrintFigure) -> PrintFigure:
    """The figure with no text that could be read as mathematics: call it last."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # type: ignore[attr-defined]
    return figure
