"""Text and picture on paper (matplotlib)."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure

from areaviz.drawing import theme
from areaviz.drawing.film_frames import Stills
from areaviz.drawing.labels import clip, drawable
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.both_layout import CUT, LEAVES, READ, SEEN, WIDEST, WORD, Laid, curve, laid_out
from areaviz.views.both_panels import DIM, panels

_LONGEST = 400
"""Longest side of a panel's picture in pixels."""
_INCH, _PT = 1 / 96, 72 / 96
"""Of a px."""


def both_print(trace: Trace, focus: Focus) -> PrintFigure:
    """A panel a word: picture, word, source words."""
    drawn = panels(trace, focus)
    places = laid_out(drawn)
    whole = (places[-1].top + places[-1].height) * _INCH
    result, axes = theme.paper(drawn.title, drawn.note, drawn.caption, whole)
    stills = drawn.film.stills(_LONGEST, DIM)
    for place in places:
        _print_panel(axes, stills, place)
    axes.set(
        xlim=(0, theme.PRINT_WIDTH - 0.3), ylim=(whole, 0), xticks=[], yticks=[], aspect="equal"
    )
    return theme.finish(result)


def _print_panel(axes: Axes, stills: Stills, place: Laid) -> None:
    """One panel on paper, all in inches."""
    wide, middle = theme.PRINT_WIDTH - 0.3, place.middle * _INCH
    still = stills.of(place.panel.frame)
    scale = min(SEEN * wide / still.shape[1], place.height * _INCH / still.shape[0])
    right, half = SEEN * wide, scale * still.shape[0] / 2
    extent = (right - scale * still.shape[1], right, middle + half, middle - half)
    axes.imshow(still, extent=extent, interpolation="nearest")
    axes.plot([right, LEAVES * wide], [middle, middle], color=theme.ACCENT, linewidth=1)
    word = drawable(clip(place.panel.frame.label, CUT))
    axes.text(
        WORD * wide, middle - 0.03, word, ha="center", va="bottom", fontsize=9, fontweight="bold"
    )
    for tie, y in place.ties():
        x, way = curve(place.middle, y)
        style: dict[str, Any] = {
            "linestyle": ":" if tie.rest else "-",
            "alpha": 0.8,
            "solid_capstyle": "butt",
        }
        axes.plot(
            x * wide, way * _INCH, color=theme.ACCENT, linewidth=_PT * WIDEST * tie.share, **style
        )
        weight = "bold" if tie.told else "normal"
        at: dict[str, Any] = {
            "va": "center_baseline",
            "fontsize": theme.PRINT_FONT,
            "fontweight": weight,
        }
        axes.text(READ * wide, y * _INCH, drawable(tie.text), **at)
