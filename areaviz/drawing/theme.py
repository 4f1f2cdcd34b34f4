"""How every figure looks: colours, fonts, margins, and the two ways to begin a figure (screen and
print).

Nothing here knows the page's theme: text colour is left to it, backgrounds are transparent, and
lines are a grey that shows on white as on black.
"""

from __future__ import annotations

import textwrap
from math import floor, log10

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure as PrintFigure
from matplotlib.text import Text
from plotly.graph_objects import Figure

from areaviz.drawing.labels import drawable, escape

# Okabe and Ito (2008), https://jfly.uni-koeln.de/color/. The first four stand out 3:1 from light
# and dark pages; the paler ones follow, and are drawn with an outline (EDGE). Darkening them would
# make them alike to a colour-blind reader, so the hues stay as published.
HEAD_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#F0E442",
    "#7F7F7F",
)
ACCENT = HEAD_COLOURS[0]
SECOND = HEAD_COLOURS[1]
EDGE = "rgba(110,110,110,0.75)"
RULE = "rgba(128,128,128,0.28)"
CLEAR = "rgba(0,0,0,0)"
PRINT_EDGE, PRINT_RULE, PRINT_MUTED = "#6E6E6E", "#DADADA", "#4A4A4A"

SEQUENCE: ListedColormap = colormaps["viridis"]  # type: ignore[assignment]
SEQUENCE_STOPS = [
    [i / 8, "#{:02x}{:02x}{:02x}".format(*SEQUENCE(i / 8, bytes=True)[:3])] for i in range(9)
]

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
SCREEN_FONT = 11.0  # px, of tick labels
SCREEN_WIDTH = (
    400.0  # px, the plot area that labels are thinned for: half a page, two models side by side
)
PRINT_FONT = 7.5  # pt
PRINT_WIDTH = 6.7  # inches
PRINT_ROOM = 390.0  # pt, the narrowest plot area on paper
_LEFT = 0.012

Layout = dict[str, object]
"""A part of plotly's layout."""


def head_colour(head: int) -> str:
    """The colour of a head (0-based), as "#rrggbb"; colours repeat after eight heads, so heads are
    also named.
    """
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def nice_top(value: float) -> float:
    """The end of a scale: the smallest 1, 2 or 5 times a power of ten that reaches `value`, so that
    scales agree.
    """
    if not value > 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= value * (1 - 1e-6)))


def screen(
    title: str,
    note: str,
    caption: str,
    height: float,
    above: float = 0,
    below: float = 48,
    across: Layout | None = None,
    down: Layout | None = None,
    **layout: object,
) -> Figure:
    """An empty plotly figure in this theme: a bold title, a note under it, `height` px of plot
    below both.

    above, below: px around the plot for labels. across, down: the axes, see `axis`. layout: more of
    plotly's layout. The caption travels in `layout.meta["caption"]`: the page sets it as text, so
    that it wraps and can be read aloud.
    All of it is made at once: plotly takes 15 times as long to update a figure as to make it.
    """
    title, note = (wrapped(text, length) for text, length in ((title, 66), (note, 84)))
    heading = 16 + 17 * (title.count("<br>") + 1) + (17 * (note.count("<br>") + 1) if note else 0)
    frame = {
        "template": {"layout": {"font": {"family": FONT, "size": SCREEN_FONT}}},
        "title": {
            "text": title, "font": {"size": 13, "weight": 600},
            "subtitle": {"text": note, "font": {"size": 11.5}},
            "x": 0, "xref": "container", "xanchor": "left",
            # Plotly hangs a title of several lines too high by half a line each.
            "pad": {"l": 4, "t": 8 + 9 * title.count("<br>")},
            "y": 1, "yref": "container", "yanchor": "top",
        },
        "meta": {"caption": caption},
        "height": round(height + heading + above + below),
        "margin": {"l": 12, "r": 12, "t": heading + above, "b": below, "pad": 2},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "hoverlabel": {"align": "left", "font": {"size": 12}},
        "dragmode": False,
        "xaxis": across or axis(),
        "yaxis": down or axis(),
    }  # fmt: skip
    return Figure(layout=frame | layout)


def wrapped(text: str, length: int) -> str:
    """Text escaped for plotly, broken into lines of at most `length` characters where it can be."""
    return "<br>".join(map(escape, textwrap.wrap(text, length, break_long_words=False)))


def axis(title: str = "", **more: object) -> Layout:
    """A plotly axis as it looks here: no ticks, no grid, labels with room; more: what else plotly
    may be told of it.
    """
    return {
        "showgrid": False, "zeroline": False, "automargin": True, "fixedrange": True, "ticks": "", "gridcolor": RULE,
        "tickfont": {"size": SCREEN_FONT}, "title": {"text": title, "font": {"size": 12}, "standoff": 8}, **more,
    }  # fmt: skip


def colour_axis(top: float, unit: str, short: bool = False) -> Layout:
    """The one colour scale of a figure, 0 to `top` (a share), with its unit beside the bar; short:
    three ticks.
    """
    step = scale_step(top, short)
    bar = {
        "title": {"text": unit, "side": "right", "font": {"size": SCREEN_FONT}},
        "thickness": 10, "len": 1, "lenmode": "fraction", "y": 0.5, "xpad": 8, "outlinewidth": 0,
        "tick0": 0, "dtick": step, "tickformat": f".{decimals(step)}%", "tickfont": {"size": SCREEN_FONT},
    }  # fmt: skip
    return {"cmin": 0, "cmax": top, "colorscale": SEQUENCE_STOPS, "colorbar": bar}


def scale_step(top: float, short: bool) -> float:
    """From tick to tick of a colour scale that ends at `top`."""
    return top / (2 if short else 5)


def decimals(step: float) -> int:
    """How many decimals a percentage needs so that multiples of `step` (a share) read apart: at
    most 6.
    """
    return next((n for n in range(7) if abs(round(100 * step, n) - 100 * step) < 1e-9), 6)


def paper(title: str, note: str, caption: str, height: float) -> tuple[PrintFigure, Axes]:
    """A matplotlib figure with `height` inches of plot: title and note above, caption below, axes
    without a frame.
    """
    caption_lines = textwrap.wrap(drawable(caption), 118)
    title_lines = textwrap.wrap(drawable(title), 84)
    head, foot = (
        0.13 + 0.15 * len(title_lines) + 0.17 * bool(note),
        0.07 + 0.12 * len(caption_lines),
    )
    whole = height + head + foot + 0.5
    figure = PrintFigure(figsize=(PRINT_WIDTH, whole), layout="constrained")
    figure.get_layout_engine().set(rect=(0, foot / whole, 1, 1 - (head + foot) / whole))  # type: ignore[union-attr, call-arg]
    figure.text(
        _LEFT, 1 - 0.07 / whole, "\n".join(title_lines), va="top", fontsize=9, fontweight="bold"
    )
    above = 1 - (head - 0.03) / whole
    figure.text(_LEFT, above, drawable(note), va="bottom", fontsize=PRINT_FONT, color=PRINT_MUTED)
    figure.text(
        _LEFT, 0.06 / whole, "\n".join(caption_lines), va="bottom", fontsize=6.5, color=PRINT_MUTED
    )
    axes = figure.subplots()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=3, labelsize=PRINT_FONT)
    return figure, axes


def finish(figure: PrintFigure) -> PrintFigure:
    """The figure with no text that could be read as mathematics: call it last."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure
