"""Marks: the content of a figure, independent of the library that draws it.

A view returns a `Plot`. `areaviz/draw/plotly.py` draws it with Plotly, and
`areaviz/draw/matplotlib.py` with matplotlib. Both renderers draw every mark, and
`tests/drawing/test_marks.py` compares them.

A size that differs on screen and in print is a pair: first in px, then in pt. Positions are in the
units of the axes. Texts are not escaped and may have line breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from areaviz.draw.labels import MAX_LABEL_CHARACTERS, Ticks
from areaviz.draw.pictures import Box, Pixels
from areaviz.draw.theme import PRINT_FONT, PRINT_ROOM, SCREEN_FONT, SCREEN_WIDTH, SECOND, Drawing
from areaviz.trace.areas import FloatArray, IntArray

Pair = tuple[float, float]
"""A size on screen and in print."""
Dash = Literal["solid", "dash", "dot"]
Symbol = Literal["circle", "square", "diamond", "triangle-up", "x"]
Places = Sequence[float] | FloatArray | IntArray
"""Positions on one axis."""
LETTERS: Pair = (SCREEN_FONT, PRINT_FONT)
"""Font size of a text."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """The style of a line."""

    colour: str
    # Width in px and in pt. A width of 0 leaves the line out.
    width: Pair
    dash: Dash = "solid"
    opacity: float = 1
    # Colour in print, if it differs.
    print_colour: str = ""


FOCUSED = Stroke(SECOND, (2, 1.2))
"""Line of a frame around focused marks."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A matrix on the plot's colour scale, one cell per value."""

    # float32 [R, C]. NaN means no cell.
    values: FloatArray
    # A text for each value, shown on hovering.
    hovers: Sequence[Sequence[str]]
    # Left edge of the first column and first edge of the first row. Cells have the size 1.
    left: float = -0.5
    top: float = -0.5
    # The C + 1 edges of the columns if their width is not 1. They replace `left`.
    edges: Sequence[float] = ()
    # Width of the gap between cells.
    gap: Pair = (0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Raster:
    """A matrix on the plot's colour scale that has too many values for cells."""

    values: FloatArray
    # Left, top, right and bottom.
    box: Box
    # A finer matrix for print, or None to use `values`.
    print_values: FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A picture, uint8 [H, W, 3]."""

    pixels: Pixels
    # Left, top, right and bottom.
    box: Box
    # Whether the picture keeps its proportions, and its position in the box if it does. In print,
    # this needs a square panel.
    is_whole: bool = False
    across: Literal["left", "center", "right"] = "center"
    down: Literal["top", "middle", "bottom"] = "middle"
    # Maximum side on screen in px, or None to send the picture unchanged.
    longest: int | None = None
    # Whether print smooths the pixels.
    is_smooth: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Bars from `base` with the given lengths. A negative length points the other way."""

    at: Places
    lengths: Places
    colour: str | Sequence[str]
    width: float
    base: Places | float = 0
    # One opacity for all bars, or one per bar.
    opacity: float | Sequence[float] = 1
    edge: Stroke | None = None
    is_upright: bool = True
    hovers: Sequence[str] = ()
    # Name in the key, or "" for no entry.
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A line through points. NaN leaves a gap. Without points, it is only an entry of the key."""

    x: Places
    y: Places
    stroke: Stroke
    # A wider line below it, so that it is visible on any background.
    casing: Stroke | None = None
    # Whether the points are those of a curve, which must not be simplified.
    is_curve: bool = False
    hover: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Symbols at positions, each with a text next to it or inside it."""

    x: Places
    y: Places
    # Diameter in px and in pt. A diameter of 0 leaves the points out.
    size: Pair
    # One colour for all points, or one per point. "" uses the plot's colour scale.
    colour: str | Sequence[str]
    edge: Stroke
    # Colour of each edge, if they differ.
    edges: Sequence[str] = ()
    # Values on the colour scale.
    values: FloatArray | None = None
    symbol: Symbol = "circle"
    texts: Sequence[str] = ()
    # Side of each text, such as ("top", "left"), or () for texts inside the symbols.
    sides: Sequence[tuple[str, str]] = ()
    text_colour: str = ""
    opacity: float = 1
    hovers: Sequence[str] = ()
    name: str = ""
    # Position in the key. Marks of equal rank are in drawing order.
    rank: int = 0
    # Whether the symbols may reach beyond the axes.
    may_overhang: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts at positions."""

    x: Places
    y: Places
    texts: Sequence[str]
    # Heights in print, if they differ.
    print_y: Places | None = None
    # Side of the point on which a text is, such as "bottom right". "" centres the text.
    side: str = ""
    size: Pair = LETTERS
    is_bold: bool = False
    # Colour of each text, or () for the text colour of the page.
    colours: Sequence[str] = ()
    # Colour behind each text, or () for none.
    grounds: Sequence[str] = ()
    opacity: float = 1
    # Whether the texts may reach beyond the axes.
    may_overhang: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle around other marks, drawn over them."""

    left: float
    top: float
    width: float
    height: float
    stroke: Stroke
    # Colour inside, or "" for none. A filled rectangle is below all other marks.
    fill: str = ""
    # Whether the line may reach beyond the axes.
    may_overhang: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A vertical line across the whole panel."""

    x: float
    stroke: Stroke


@dataclass(frozen=True, slots=True, eq=False)
class Hover:
    """Texts that appear on screen when the pointer is at a position."""

    x: Places
    y: Places
    texts: Sequence[str]
    # Width in px of the spot where the text appears.
    size: float
    # Values that a click on each position reports, such as (layer, head).
    clicked: Sequence[tuple[int, ...]] = ()


Named = Bars | Path | Points
"""Marks that may have an entry in the key."""
Mark = Cells | Raster | Image | Bars | Path | Points | Texts | Frame | Rule | Hover


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """An axis of a panel."""

    title: str = ""
    # Title on screen, if it differs.
    screen_title: str | None = None
    # Ends from left to right, or from bottom to top. None fits them to the marks.
    ends: Pair | None = None
    # Ends in print, if they differ.
    print_ends: Pair | None = None
    # Visible labels of the items 0, 1, 2, ... The renderer shows as many as fit.
    labels: Sequence[str] | None = None
    longest: int = MAX_LABEL_CHARACTERS
    # Length of a horizontal axis in px and in pt. It determines how many labels fit.
    room: Pair = (SCREEN_WIDTH, PRINT_ROOM)
    # Whether the labels are spread evenly from one end to the other.
    is_spread: bool = False
    # Ticks, used instead of labels. All of them are shown.
    ticks: Ticks | None = None
    # Whether short lines mark the ticks on screen.
    has_ticks: bool = False
    # Whether the axis has lines at round values.
    has_grid: bool = False
    # Whether the values are shares, written as percentages.
    is_share: bool = False
    is_seen: bool = True

    def placed(self, chosen: Ticks) -> Ticks:
        """Move labels, which are at 0, 1, 2, ..., to their positions on this axis."""
        if not self.is_spread or self.labels is None or self.ends is None:
            return chosen
        start, end = self.ends
        step = (end - start) / max(len(self.labels), 1)
        return replace(chosen, positions=tuple(start + (i + 0.5) * step for i in chosen.positions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Marks on one pair of axes."""

    # In drawing order: later marks cover earlier marks.
    marks: Sequence[Mark]
    across: Axis = Axis()
    down: Axis = Axis()
    # Whether the horizontal axis is above the panel.
    is_across_on_top: bool = False
    # A second horizontal axis, above the panel.
    upper: Axis | None = None
    # Texts at the right end of the panel, at positions of the vertical axis.
    right: Ticks | None = None
    # Whether a unit of both axes has the same length on the screen or paper.
    is_square: bool = False
    # Text above the panel, and text to its right on screen and below it in print.
    title: str = ""
    aside: str = ""
    # Horizontal and vertical position on screen, in shares of the figure.
    columns: Pair = (0, 1)
    rows: Pair = (0, 1)


@dataclass(frozen=True, slots=True)
class Scale:
    """The colour scale of a plot."""

    # End of the scale. It starts at 0, or at -top if it is signed.
    top: float
    unit: str
    is_signed: bool = False
    # Whether the colour bar has only three ticks. None decides by its height.
    is_short: bool | None = False


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a plot, which lists its named marks."""

    side: Literal["above", "below", "right"]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure: panels of marks, and the texts, scale and key around them."""

    # Title, note and caption.
    drawing: Drawing
    panels: Sequence[Panel]
    # Height in px and in inches.
    height: Pair
    # Space in px above and below the panels, in addition to the labels of the axes.
    above: float = 0
    below: float = 48
    scale: Scale | None = None
    key: Key | None = None

    @property
    def named(self) -> Sequence[Named]:
        """The marks of the key, in its order."""
        marks = [mark for panel in self.panels for mark in panel.marks]
        named = [mark for mark in marks if isinstance(mark, Named) and mark.name]
        return sorted(named, key=lambda mark: mark.rank if isinstance(mark, Points) else 0)
