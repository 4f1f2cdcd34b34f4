"""How every figure looks: colours, fonts, margins, and how a figure begins, on screen and in print.

Nothing here knows the page's theme: text colour is left to it, backgrounds are transparent, and
lines are a grey that shows on white as on black.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure as PrintFigure
from matplotlib.text import Text
from plotly.graph_objects import Figure

from areaviz.drawing.labels import drawable, lines, round_up

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

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
# px, of tick labels.
SCREEN_FONT = 11.0
# px, the plot area that labels are thinned for: half a page, as two models stand side by side, and
# what a chart has that stands alone; see `axes.refitted`.
SCREEN_WIDTH, WIDE = 400.0, 720.0
# pt.
PRINT_FONT = 7.5
# Inches.
PRINT_WIDTH = 6.7
# Letters in a line of a print's title, note and caption.
PRINT_LETTERS = (84, 104, 118)
# pt, the narrowest plot area on paper.
PRINT_ROOM = 390.0
# Where texts begin, as a share of a print's width.
_LEFT = 0.012

Layout = dict[str, object]
"""A part of plotly's layout."""

SEQUENCE: ListedColormap = colormaps["viridis"]  # type: ignore[assignment]
"""The colours of shares, from 0 to 1."""


def colour_at(share: float) -> str:
    """The colour of a share 0..1 on the scale, as "#rrggbb"."""
    return "#{:02x}{:02x}{:02x}".format(*SEQUENCE(share, bytes=True)[:3])


DIVERGING = LinearSegmentedColormap.from_list("against", [ACCENT, "#E4E4E4", SECOND])
"""The colours of what is signed, from less over as much to more."""
DIVERGING_STOPS = [[0, ACCENT], [0.5, "rgba(128,128,128,0.12)"], [1, SECOND]]
"""The same on the screen, where what is as much is next to nothing."""
SEQUENCE_STOPS = [[i / 8, colour_at(i / 8)] for i in range(9)]


def head_colour(head: int) -> str:
    """The colour of a head (0-based), as "#rrggbb".

    Colours repeat after eight heads, so heads are also named.
    """
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def nice_top(value: float) -> float:
    """The end of a scale: a round number that reaches `value`, so that scales of figures agree."""
    return round_up(value, slack=1e-6) if value > 0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """The texts around a figure; subclasses add what is drawn."""

    # In bold above the figure.
    title: str
    # Under the title, or "".
    note: str
    # Under the figure: see `base.caption`.
    caption: str


def screen_figure(
    drawing: Drawing,
    height: float,
    above: float = 0,
    below: float = 48,
    across: Layout | None = None,
    down: Layout | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    **layout: object,
) -> Figure:
    """An empty plotly figure in this theme: a bold title, a note under it, the plot below both.

    The title, the note and the caption travel in `layout.meta`, too: a page sets them as text, so
    that they wrap and can be read aloud (see `axes.headless`). All of the layout is made at once:
    plotly takes 15 times as long to update a figure as to make it.

    Args:
        drawing: its title, note and caption.
        height: of the plot, in px.
        above: px over the plot, for labels.
        below: the same under it.
        across: the horizontal axis, see `axis`.
        down: the vertical axis.
        labels: of each horizontal axis all labels, also those there was no room for.
        layout: more of plotly's layout.
    """
    title, note = wrapped(drawing.title, 66), wrapped(drawing.note, 84)
    further_lines = title.count("<br>")
    heading = 33 + 17 * further_lines
    if note:
        heading += 17 * (note.count("<br>") + 1)
    frame = {
        "template": {"layout": {"font": {"family": FONT, "size": SCREEN_FONT}}},
        "title": {
            "text": title,
            "font": {"size": 13, "weight": 600},
            "subtitle": {"text": note, "font": {"size": 11.5}},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            # Plotly hangs a title of several lines too high by half a line each.
            "pad": {"l": 4, "t": 8 + 9 * further_lines},
            "y": 1,
            "yref": "container",
            "yanchor": "top",
        },
        "meta": {
            "title": drawing.title,
            "note": drawing.note,
            "caption": drawing.caption,
            "heading": heading,
            "labels": dict(labels or {}),
        },
        "height": round(height + heading + above + below),
        "margin": {
            "l": 12,
            "r": 12,
            "t": heading + above,
            "b": below,
            "pad": 2,
        },
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "hoverlabel": {"align": "left", "font": {"size": 12}},
        "dragmode": False,
        "xaxis": across or axis(),
        "yaxis": down or axis(),
    }
    return Figure(layout=frame | layout)


def wrapped(text: str, length: int) -> str:
    """Text escaped for plotly, broken into lines of at most `length` characters where it can be."""
    return lines(textwrap.wrap(text, length, break_long_words=False))


def axis(title: str = "", **more: object) -> Layout:
    """A plotly axis without ticks and grid, its labels with room; more: other settings of it."""
    plain = {
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
        "ticks": "",
        "gridcolor": RULE,
        "tickfont": {"size": SCREEN_FONT},
        "title": {
            "text": title,
            "font": {"size": 12},
            "standoff": 8,
        },
    }
    return plain | more


def unseen_axis(start: float, end: float) -> Layout:
    """A plotly axis that only places things, from one value to another."""
    return {
        "visible": False,
        "range": [start, end],
        "fixedrange": True,
    }


def colour_axis(
    top: float,
    unit: str,
    short: bool = False,
) -> Layout:
    """The one colour scale of a figure, 0 to `top` (a share), with its unit beside the bar.

    Args:
        short: the bar has room for three ticks only.
    """
    step = scale_step(top, short)
    bar = {
        "title": {
            "text": unit,
            "side": "right",
            "font": {"size": SCREEN_FONT},
        },
        "thickness": 10,
        "len": 1,
        "lenmode": "fraction",
        "y": 0.5,
        "xpad": 8,
        "outlinewidth": 0,
        "tick0": 0,
        "dtick": step,
        "tickformat": f".{decimals(step)}%",
        "tickfont": {"size": SCREEN_FONT},
    }
    return {
        "cmin": 0,
        "cmax": top,
        "colorscale": SEQUENCE_STOPS,
        "colorbar": bar,
    }


def signed_axis(top: float, unit: str) -> Layout:
    """The colour scale of doublings, -top to top, in words such as "4 times" and "1/4"."""
    steps = range(-int(top), int(top) + 1)
    bar = {
        "title": {"text": unit, "side": "right", "font": {"size": SCREEN_FONT}},
        "thickness": 10,
        "outlinewidth": 0,
        "tickvals": list(steps),
        "ticktext": [times(step) for step in steps],
        "tickfont": {"size": SCREEN_FONT},
    }
    return {"cmin": -top, "cmax": top, "colorscale": DIVERGING_STOPS, "colorbar": bar}


def times(doublings: int) -> str:
    """How many times as much so many doublings are."""
    return f"1/{2**-doublings}" if doublings < 0 else f"{2**doublings}×"


def scale_step(top: float, short: bool) -> float:
    """From tick to tick of a colour scale that ends at `top`."""
    return top / (2 if short else 5)


def decimals(step: float) -> int:
    """How many decimals a percentage needs so that multiples of `step` (a share) read apart."""
    return next((n for n in range(7) if abs(round(100 * step, n) - 100 * step) < 1e-9), 6)


def print_figure(drawing: Drawing, height: float) -> tuple[PrintFigure, Axes]:
    """A matplotlib figure with `height` inches of plot, its texts around it, and plain axes."""
    texts = (drawing.title, drawing.note, drawing.caption)
    title, note, caption = (
        textwrap.wrap(drawable(text), letters)
        for text, letters in zip(texts, PRINT_LETTERS, strict=True)
    )
    head = 0.13 + 0.15 * len(title)
    if note:
        head += 0.04 + 0.13 * len(note)
    foot = 0.07 + 0.12 * len(caption)
    whole = height + head + foot + 0.5
    figure = PrintFigure(figsize=(PRINT_WIDTH, whole), layout="constrained")
    engine, place = figure.get_layout_engine(), (0, foot / whole, 1, 1 - (head + foot) / whole)
    engine.set(rect=place)  # type: ignore[union-attr, call-arg]
    top = 1 - 0.07 / whole
    figure.text(
        _LEFT,
        top,
        "\n".join(title),
        va="top",
        fontsize=9,
        fontweight="bold",
    )
    above = 1 - (head - 0.03) / whole
    figure.text(_LEFT, above, "\n".join(note), va="bottom", fontsize=PRINT_FONT, color=PRINT_MUTED)
    figure.text(
        _LEFT, 0.06 / whole, "\n".join(caption), va="bottom", fontsize=6.5, color=PRINT_MUTED
    )
    axes = figure.subplots()
    plain_axes(axes)
    return figure, axes


def plain_axes(axes: Axes) -> None:
    """Take frame and tick marks off axes on paper."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=3, labelsize=PRINT_FONT)


def finish(figure: PrintFigure) -> PrintFigure:
    """The figure with no text that could be read as mathematics: comes last."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure
