"""The theme of all figures, with their axes, colour scales and keys."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure as PrintFigure
from matplotlib.text import Text
from plotly.graph_objects import Figure, Heatmap

from areaviz.draw.labels import (
    MAX_LABEL_CHARACTERS,
    Ticks,
    choose_ticks,
    escape,
    join_lines,
    replace_undrawable,
    round_up,
)
from areaviz.trace.areas import FloatArray

# Theme of all figures: colours, fonts, margins, and the start of a figure on screen and in print.
#
# Figures do not depend on the theme of the page. The page sets the colour of text, backgrounds are
# transparent, and lines have a grey that is visible on white and on black.


# Okabe and Ito (2008), https://jfly.uni-koeln.de/color/. The first four have a contrast of 3:1 with
# light and dark pages. The paler ones follow and are drawn with an outline (EDGE). They keep their
# published hues, because darker versions would be hard to distinguish for colour-blind readers.
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
# Font size of all texts except the title, in px.
SCREEN_FONT = 14.0
# Widths in px of the plot area: the width for which labels are thinned, half a page (two models
# side by side), and the width of a single chart. See `axes.relabel_for_width`.
SCREEN_WIDTH, WIDE = 400.0, 720.0
# Font size in pt.
PRINT_FONT = 7.5
# Width of a figure in inches.
PRINT_WIDTH = 6.7
# Maximum characters per line of a print's title, note and caption.
PRINT_LETTERS = (84, 104, 118)
# Minimum width of the plot area in print, in pt.
PRINT_ROOM = 390.0
# Left edge of texts, as a share of a print's width.
_LEFT = 0.012

Layout = dict[str, object]
"""A part of Plotly's layout."""

SEQUENCE: ListedColormap = colormaps["viridis"]  # type: ignore[assignment]
"""Colours of shares, from 0 to 1."""


def colour_at(share: float) -> str:
    """Return the colour of a share 0..1 on the scale, as "#rrggbb"."""
    return "#{:02x}{:02x}{:02x}".format(*SEQUENCE(share, bytes=True)[:3])


DIVERGING = LinearSegmentedColormap.from_list("against", [ACCENT, "#E4E4E4", SECOND])
"""Colours of signed values, from less to more, with grey for equal."""
DIVERGING_STOPS = [[0, ACCENT], [0.5, "rgba(128,128,128,0.12)"], [1, SECOND]]
"""Colours of signed values on screen, with an almost transparent colour for equal."""
SEQUENCE_STOPS = [[i / 8, colour_at(i / 8)] for i in range(9)]


def get_head_colour(head: int) -> str:
    """Return the colour of a head (0-based) as "#rrggbb".

    Colours repeat after eight heads, so heads are also named.
    """
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def round_up_scale(value: float) -> float:
    """Return a round number that is at least `value`, so that figures have comparable scales."""
    return round_up(value, slack=1e-6) if value > 0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """The texts around a figure. Subclasses add the data."""

    # Text in bold above the figure.
    title: str
    # Text below the title, or "".
    note: str
    # Text below the figure, see `figure_caption`.
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
    """Create an empty Plotly figure in this theme: a bold title, a note, and the plot below them.

    The title, the note and the caption are also in `layout.meta`. A page shows them as text, which
    can wrap and be read aloud (see `axes.without_title`). The whole layout is created in one call,
    because updating a figure takes Plotly 15 times as long as creating it.

    Args:
        drawing: title, note and caption.
        height: height of the plot in px.
        above: px above the plot, for labels.
        below: px below the plot, for labels.
        across: the horizontal axis, see `axis`.
        down: the vertical axis.
        labels: all labels of each horizontal axis, including those that did not fit.
        layout: more of Plotly's layout.
    """
    title, note = wrap_text(drawing.title, 60), wrap_text(drawing.note, 72)
    further_lines = title.count("<br>")
    heading = 36 + 19 * further_lines
    if note:
        heading += 20 * (note.count("<br>") + 1)
    frame = {
        "template": {"layout": {"font": {"family": FONT, "size": SCREEN_FONT}}},
        "title": {
            "text": title,
            "font": {"size": 15, "weight": 600},
            "subtitle": {"text": note, "font": {"size": SCREEN_FONT}},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            # Plotly places a title of several lines half a line too high per line.
            "pad": {"l": 4, "t": 8 + 10 * further_lines},
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
        "margin": {"l": 12, "r": 12, "t": heading + above, "b": below, "pad": 2},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "hoverlabel": {"align": "left", "font": {"size": SCREEN_FONT}},
        "dragmode": False,
        "xaxis": across or axis(),
        "yaxis": down or axis(),
    }
    return Figure(layout=frame | layout)


def wrap_text(text: str, length: int) -> str:
    """Escape text for Plotly and break it into lines of at most `length` characters if possible."""
    return join_lines(textwrap.wrap(text, length, break_long_words=False))


def axis(title: str = "", **more: object) -> Layout:
    """Return a Plotly axis without ticks and grid.

    Args:
        title: title of the axis.
        more: other settings of the axis.
    """
    plain = {
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
        "ticks": "",
        "gridcolor": RULE,
        "tickfont": {"size": SCREEN_FONT},
        "title": {"text": title, "font": {"size": SCREEN_FONT}, "standoff": 8},
    }
    return plain | more


def make_unseen_axis(start: float, end: float) -> Layout:
    """Return an invisible Plotly axis from one value to another."""
    return {"visible": False, "range": [start, end], "fixedrange": True}


def format_factor(doublings: int) -> str:
    """Format a log₂ ratio as a factor."""
    return f"1/{2**-doublings}" if doublings < 0 else f"{2**doublings}×"


def scale_step(top: float, short: bool) -> float:
    """Return the distance between ticks of a colour scale that ends at `top`."""
    return top / (2 if short else 5)


def count_decimals(step: float) -> int:
    """Return the number of decimals with which a percentage shows multiples of `step` exactly.

    `step` is a share, 0..1.
    """
    return next((n for n in range(7) if abs(round(100 * step, n) - 100 * step) < 1e-9), 6)


def print_figure(drawing: Drawing, height: float) -> tuple[PrintFigure, Axes]:
    """Create a matplotlib figure with `height` inches of plot, texts around it, and plain axes."""
    texts = (drawing.title, drawing.note, drawing.caption)
    title, note, caption = (
        textwrap.wrap(replace_undrawable(text), letters)
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
    figure.text(_LEFT, top, "\n".join(title), va="top", fontsize=9, fontweight="bold")
    above = 1 - (head - 0.03) / whole
    figure.text(_LEFT, above, "\n".join(note), va="bottom", fontsize=PRINT_FONT, color=PRINT_MUTED)
    figure.text(
        _LEFT, 0.06 / whole, "\n".join(caption), va="bottom", fontsize=6.5, color=PRINT_MUTED
    )
    axes = figure.subplots()
    remove_frame(axes)
    return figure, axes


def remove_frame(axes: Axes | SecondaryAxis) -> None:
    """Remove the frame and tick marks of axes in print."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, pad=3, labelsize=PRINT_FONT)


def finish_figure(figure: PrintFigure) -> PrintFigure:
    """Stop matplotlib from reading any text of a finished figure as mathematics."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


# Labels of axes, colour scales, and keys of figures.


STEPS = np.linspace(0, 1, 25)
"""Positions along a curve, from its start to its end."""
HOVER = "%{text}<extra></extra>"
"""Plotly hover template that shows only the text of a mark."""


def choose_screen_labels(
    labels: Sequence[str],
    room: float = SCREEN_WIDTH,
    upright: bool = False,
    longest: int = MAX_LABEL_CHARACTERS,
) -> Ticks:
    """Choose which labels to show, so that they fit on a screen axis of `room` px."""
    return choose_ticks(labels, room, SCREEN_FONT, upright, longest)


def print_labels(
    labels: Sequence[str],
    room: float = PRINT_ROOM,
    upright: bool = False,
    longest: int = MAX_LABEL_CHARACTERS,
) -> Ticks:
    """Choose which labels to show, so that they fit on a print axis of `room` pt.

    Characters that the print font lacks are replaced by codes such as ⟨U+1F600⟩.
    """
    return choose_ticks(
        [replace_undrawable(label) for label in labels], room, PRINT_FONT, upright, longest
    )


def make_screen_ticks(shown: Ticks) -> Layout:
    """Return the tick settings of a Plotly axis."""
    return {
        "tickmode": "array",
        "tickvals": shown.positions,
        "ticktext": [escape(text) for text in shown.texts],
        # If a screen is narrower than expected, Plotly may rotate horizontal labels.
        "tickangle": -shown.angle or None,
        "autotickangles": [0, -90],
    }


def compute_label_depth(shown: Ticks) -> float:
    """Return the height in px of the labels below or above a horizontal screen axis."""
    if not shown.angle:
        return 20
    return 12 + 0.45 * SCREEN_FONT * max(map(len, shown.texts), default=1)


def relabel_for_width(figure: Figure, room: float) -> Figure:
    """Change a screen figure so that its horizontal axes show the labels that fit in `room` px."""
    layout = figure.layout
    for axis, labels in layout.meta["labels"].items():
        before, after = choose_screen_labels(labels), choose_screen_labels(labels, room)
        side = "t" if layout[axis].side == "top" else "b"
        change = compute_label_depth(after) - compute_label_depth(before)
        figure.update_layout(
            {
                axis: make_screen_ticks(after),
                "margin": {side: layout.margin[side] + change},
                "height": round(layout.height + change),
            }
        )
    return figure


def without_title(figure: Figure) -> Figure:
    """Remove the title and note from a screen figure. The page shows them as text."""
    layout = figure.layout
    # Keep 8 px of space above the plot.
    less = layout.meta["heading"] - 8
    return figure.update_layout(
        title={"text": "", "subtitle": {"text": ""}},
        margin={"t": layout.margin.t - less},
        height=round(layout.height - less),
    )


def find_common_top(figures: Sequence[Figure]) -> float | None:
    """Return the largest end of the colour scales of all figures.

    Returns:
        The end, or None if a figure has no colour scale or its scale cannot be changed.
    """
    tops = [figure.layout.coloraxis.cmax for figure in figures]
    if None in tops or not all(map(_can_move, figures)):
        return None
    return float(max(tops))


def _can_move(figure: Figure) -> bool:
    """Return whether the end of a figure's colour scale can be changed.

    It cannot be changed if the matrix was drawn as an image.
    """
    is_heatmap = any(isinstance(trace, Heatmap) for trace in figure.data)
    return is_heatmap or not figure.layout.images


def with_colour_limit(figure: Figure, top: float | None) -> Figure:
    """Set the end of a screen figure's colour scale to `top`, unless `top` is None."""
    scale = figure.layout.coloraxis
    if top is None or scale.cmax == top or scale.cmin != 0:
        return figure
    step = scale_step(top, short=scale.colorbar.dtick > scale.cmax / 4)
    bar = {"dtick": step, "tickformat": f".{count_decimals(step)}%"}
    return figure.update_layout(coloraxis={"cmax": top, "colorbar": bar})


def make_legend(y: float, **more: object) -> Layout:
    """Return the settings of a horizontal key, aligned left.

    Args:
        y: 0 for the bottom of the figure, or 1 for directly above the plot.
        more: other settings of Plotly's legend.
    """
    key: Layout = {"orientation": "h", "x": 0, "y": y, "yanchor": "bottom"}
    if y == 0:
        key["yref"] = "container"
    return key | more


def ease_in_out(start: float, end: float) -> FloatArray:
    """Interpolate from `start` to `end` at `STEPS`, slowly at both ends: float32 [25]."""
    change = 3 * STEPS**2 - 2 * STEPS**3
    return (start + (end - start) * change).astype(np.float32)
