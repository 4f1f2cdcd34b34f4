"""Image grid in print: the areas of the selected items on the picture, with a panel for each word.

Axes are in inches from the top left. Shapes: Q queries, N cells, H and W pixels, C channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle

from areaviz.draw.labels import prepare_for_print, truncate
from areaviz.draw.select import get_display_field, group_items, list_heads, name_field
from areaviz.draw.theme import (
    PRINT_FONT,
    SEQUENCE,
    Drawing,
    finish_figure,
    get_head_colour,
    print_figure,
)
from areaviz.draw.view import figure_caption
from areaviz.interactive.grid_table import (
    Place,
    describe_cells,
    find_bounding_box,
    find_places,
    query_text,
)
from areaviz.interactive.print_layout import draw_key, write_text
from areaviz.interactive.ribbon_table import describe_found, format_amount
from areaviz.trace.areas import Area, AreaGrid, FloatArray, IntArray, format_area
from areaviz.trace.query import find_smallest_area_size, item_shares
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Picture

COARSE = 112
"""Maximum side in pixels of a picture whose pixels are shown as squares."""
SHOWN = 2
"""Number of areas drawn per head."""
# Maximum number of panels, and number per row.
_PANELS, _ACROSS = 6, 3
# Width of the drawing, and space between panels, in inches.
_MEASURE, _GAP = 6.4, 0.2
# Height of a line in the legend, of a panel's title, and of the row and column numbers, in inches.
_LINE, _TITLE, _RULER = 0.15, 0.22, 0.15
# Possible steps between row and column numbers, and their minimum distance in inches.
_STEPS, _LEAST_PITCH = (1, 2, 5, 10), 0.12
# Minimum ratio of the sides. A thinner picture is stretched, so that it is visible.
_SLIMMEST = 1 / 12


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The content of one panel: a title, areas, a legend, a tint and outlined cells."""

    title: str
    places: Sequence[Place]
    # Head and text of each line.
    legend: Sequence[tuple[int, str]]
    # Share of each cell, 0..1.
    share_N: FloatArray
    # The selected cells.
    outlined: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """Position of a picture on paper."""

    axes: Axes
    picture: Picture
    grid: AreaGrid
    # Boxes of the cells in pixels.
    cells_N4: IntArray
    # Left and upper edge, and width, in inches.
    left: float
    top: float
    width: float

    @property
    def bottom(self) -> float:
        """Lower edge in inches."""
        return self.top + self.width * compute_drawn_shape(self.picture)

    def frame(
        self, area: Area, colour: str, thick: float, inset: float = 0, dashed: bool = False
    ) -> None:
        """Draw a frame around an area, `thick` pt wide and `inset` inches inside its edge."""
        size = np.array([self.width, self.bottom - self.top])
        scale = size / (self.picture.width, self.picture.height)
        first = area.top * self.grid.width + area.left
        last = first + (area.height - 1) * self.grid.width + area.width - 1
        start = self.cells_N4[first, :2] * scale
        extent = self.cells_N4[last, 2:] * scale - start
        inside = np.minimum(inset, extent / 3)
        x, y = np.array([self.left, self.top]) + start + inside
        width, height = np.maximum(extent - 2 * inside, 0.01)
        self.axes.add_artist(
            Rectangle(
                (x, y),
                width,
                height,
                fill=False,
                joinstyle="miter",
                edgecolor=colour,
                linewidth=thick,
                linestyle=(0, (2, 1.5)) if dashed else "-",
            )
        )

    def white(self, area: Area, thick: float, dashed: bool = False) -> None:
        """Draw a white frame on a wider black one. It is visible on any picture."""
        self.frame(area, "black", thick + 1.1)
        self.frame(area, "white", thick, dashed=dashed)


def is_coarse(picture: Picture) -> bool:
    """Return whether a picture is so small that its pixels are shown as squares."""
    return max(picture.width, picture.height) <= COARSE


def compute_drawn_shape(picture: Picture) -> float:
    """Return the ratio of height to width with which a picture is drawn."""
    return float(np.clip(picture.height / picture.width, _SLIMMEST, 1 / _SLIMMEST))


def draw_grid(trace: Trace, focus: Focus) -> PrintFigure:
    """Draw the areas of the selected items: one panel, or one for each of several words.

    By default the first words are shown, or the middle cell of a picture that attends to itself.
    """
    focus = _with_items(trace, focus)
    attention, picture = trace.maps[focus.site], trace.request.picture
    assert picture is not None
    panels = [_make_panel(trace, part) for part in _split_focus(trace, focus)]
    heads = list_heads(attention, focus.head)
    columns = min(len(panels), _ACROSS)
    width = 3.0 if columns < _ACROSS else (_MEASURE - 2 * _GAP) / 3
    # Limit the height of a picture to 3.2 inches.
    shown = min(width - _RULER, 3.2 / compute_drawn_shape(picture))
    width = shown + _RULER
    tall = _TITLE + _RULER + shown * compute_drawn_shape(picture) + _LINE * (len(heads) + 1) + 0.05
    pitch = tall + _GAP
    whole = pitch * -(-len(panels) // columns) - _GAP
    drawing = Drawing(
        _make_title(trace, focus), _make_note(trace, focus), figure_caption(trace, focus)
    )
    figure, axes = print_figure(drawing, whole)
    cells_N4 = trace.fields[attention.memory].anchors
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        left, top = column * (width + _GAP) + _RULER, row * pitch + _TITLE + _RULER
        draw_panel(Spot(axes, picture, attention.grid, cells_N4, left, top, shown), panel, heads)
    axes.set(xlim=(-0.02, _MEASURE), ylim=(whole, 0), xticks=[], yticks=[])
    axes.set_aspect("equal", anchor="NW")
    return finish_figure(figure)


def draw_panel(spot: Spot, panel: Panel, heads: Sequence[int]) -> None:
    """Draw a panel at `spot`, with its title above the picture and a line per head below it."""
    axes, left = spot.axes, spot.left
    write_text(
        axes,
        left,
        spot.top - _RULER - _TITLE / 2,
        _replace_space_signs(panel.title),
        PRINT_FONT + 0.5,
    )
    _write_cell_numbers(spot)
    extent = (left, left + spot.width, spot.bottom, spot.top)
    smoothing = "nearest" if is_coarse(spot.picture) else "antialiased"
    axes.imshow(spot.picture.pixels, extent=extent, interpolation=smoothing)
    tinted = panel.share_N.any()
    if tinted:
        axes.imshow(_compute_tint(spot, panel.share_N), extent=extent, interpolation="nearest")
    _draw_frames(spot, panel, heads)
    y, size = spot.bottom + _LINE * 0.8, PRINT_FONT - 0.7
    for head, text in panel.legend:
        draw_key(axes, (left + 0.045, y), head, _replace_space_signs(text), size)
        y += _LINE
    if tinted:
        most = f"the most of one cell: {panel.share_N.max():.1%}"
        write_text(axes, left + 0.14, y, most, size)


def _write_cell_numbers(spot: Spot) -> None:
    """Write the numbers of rows and columns next to the picture. The legend names areas by them."""
    height, width = spot.grid.height, spot.grid.width
    wide, tall = spot.width, spot.bottom - spot.top
    size = PRINT_FONT - 1.2
    for column in _choose_numbered(width, wide / width):
        middle = spot.cells_N4[column, [0, 2]].mean() / spot.picture.width * wide
        y = spot.top - _RULER / 2
        write_text(spot.axes, spot.left + middle, y, f"{column + 1}", size, side="center")
    for row in _choose_numbered(height, tall / height):
        middle = spot.cells_N4[row * width, [1, 3]].mean() / spot.picture.height * tall
        x = spot.left - 0.04
        write_text(spot.axes, x, spot.top + middle, f"{row + 1}", size, side="right")


def _choose_numbered(count: int, pitch: float) -> list[int]:
    """Return the indices of the rows or columns that get a number.

    Args:
        count: number of rows or columns.
        pitch: distance between two neighbours in inches.
    """
    step = next((step for step in _STEPS if step * pitch >= _LEAST_PITCH), _STEPS[-1])
    return [at for at in range(count) if (at + 1) % step == 0]


def _replace_space_signs(text: str) -> str:
    """Return a text that can be drawn, with spaces instead of their visible signs."""
    return prepare_for_print(text).replace("␣", " ")


def _draw_frames(spot: Spot, panel: Panel, heads: Sequence[int]) -> None:
    """Draw the frames of weaker areas, over them top areas, then read areas and selected cells."""
    # Each head has its own lane inside an area's edge, so that frames do not cover each other. The
    # width of a lane is in inches.
    lane = min(0.028, spot.width / spot.grid.width / (2.5 * len(heads)))
    own = [[place for place in panel.places if place.head == head] for head in heads]
    for drawn, thick in ((slice(1, SHOWN), 0.6), (slice(1), 1.5)):
        for order, places in enumerate(own):
            for place in places[drawn]:
                # An area that was read also gets a white frame at its edge.
                inset = lane * (order + 0.5) + (0.03 if place.read else 0)
                spot.frame(place.area, "#202020", thick + 1.1, inset)
                spot.frame(place.area, get_head_colour(place.head), thick, inset)
    for place in panel.places:
        if place.read:
            spot.white(place.area, 1.6)
    boxes = [find_bounding_box([item], spot.grid) for item in panel.outlined]
    if boxes:
        # Draw a single frame if the cells fill an area.
        whole = find_bounding_box(panel.outlined, spot.grid)
        for box in [whole] if whole.size == len(boxes) else boxes:
            spot.white(box, 1.2, dashed=True)


def _compute_tint(spot: Spot, share_N: FloatArray) -> FloatArray:
    """Return the colours to draw over the picture: float32 [H, W, C], C = 4 with opacity.

    Cells with small shares are almost transparent.
    """
    colours_HWC = np.zeros((spot.picture.height, spot.picture.width, 4), np.float32)
    relative_N = (share_N / share_N.max()).tolist()
    for cell, share in zip(spot.cells_N4.tolist(), relative_N, strict=True):
        left, top, right, bottom = cell
        colours_HWC[top:bottom, left:right] = (*SEQUENCE(share)[:3], 0.08 + 0.57 * share)
    return colours_HWC


def _with_items(trace: Trace, focus: Focus) -> Focus:
    """Return a focus with items: by default the first words, or the middle cell."""
    if focus.items:
        return focus
    attention = trace.maps[focus.site]
    query, grid = trace.fields[attention.query], attention.grid
    if query.is_picture:
        items: Sequence[int] = (grid.height // 2 * grid.width + grid.width // 2,)
    else:
        _, end = group_items(query, focus.unit)[:_PANELS][-1]
        items = range(end)
    return replace(focus, side="query", items=tuple(items))


def _split_focus(trace: Trace, focus: Focus) -> list[Focus]:
    """Return one focus per panel: one for each selected word, or a single one for cells."""
    query, chosen = trace.fields[trace.maps[focus.site].query], set(focus.items)
    if focus.side == "memory" or query.is_picture:
        return [focus]
    runs = [range(*run) for run in group_items(query, focus.unit)]
    words = [run for run in runs if not chosen.isdisjoint(run)]
    return [replace(focus, items=tuple(word)) for word in words[:_PANELS]]


def _make_panel(trace: Trace, focus: Focus) -> Panel:
    """Return the panel of a focus.

    It shows the areas that the selected queries attend to. On the memory side, it shows the queries
    that attend to the selected cells.
    """
    attention, places = trace.maps[focus.site], find_places(trace, focus)
    query, grid, items = trace.fields[attention.query], attention.grid, list(focus.items)
    heads = list_heads(attention, focus.head)
    share_QN = np.mean([item_shares(attention, focus.layer, head) for head in heads], 0)
    by_query, is_text = focus.side == "query", query.is_text
    # The legend has one line per head, with its top area or the area that it read.
    legend = []
    for head in heads:
        text = "nothing"
        top = next((place for place in places if place.head == head), None)
        if top:
            name = format_area(top.area) if by_query else query_text(query, top.queries, grid)
            read = "read: " if top.read else ""
            text = f"{read}{truncate(name, 28)} {format_amount(focus, top.weight)}"
        legend.append((head, f"head {head + 1} {text}"))
    outlined: Sequence[int] = items
    share_N = share_QN[items].mean(0) if by_query else share_QN[:, items].sum(1)
    if by_query and is_text:
        outlined = ()
    elif is_text:
        # The queries are words, which have no position in the picture.
        places, share_N = [], np.zeros(grid.items, np.float32)
    elif not by_query:
        places = [replace(place, area=find_bounding_box(place.queries, grid)) for place in places]
    return Panel(_name_selection(trace, focus), places, legend, share_N, outlined)


def _name_selection(trace: Trace, focus: Focus) -> str:
    """Name the selection: words in quotation marks, cells by their position."""
    attention = trace.maps[focus.site]
    query = trace.fields[attention.query]
    if focus.side == "memory" or query.is_picture:
        return truncate(describe_cells(focus.items, attention.grid), 48)
    return f"“{truncate(query_text(query, focus.items, attention.grid), 48)}”"


def _make_title(trace: Trace, focus: Focus) -> str:
    field, name = (
        get_display_field(trace, trace.maps[focus.site].query),
        _name_selection(trace, focus),
    )
    kind = name_field(field)
    if focus.side == "memory":
        return f"What of the {kind} attends to {name}"
    whose = f"the {kind} {name}" if field.is_text else f"{name} of the {kind}"
    return f"What {whose} attends to"


def _make_note(trace: Trace, focus: Focus) -> str:
    """Return a note that explains the frames and the tint of the print."""
    attention = trace.maps[focus.site]
    to_itself = attention.query == attention.memory
    if focus.side == "memory":
        parts = ["Dashed: the chosen cells"]
        if to_itself:
            parts.append("frames: the cells that give them most, by head")
            parts.append("tint: the share each cell gives them")
    else:
        is_plain = focus.reading == "heaviest" and focus.against == "nothing"
        is_larger = is_plain and find_smallest_area_size(attention, focus) > 1
        larger = " of two or more cells" if is_larger else ""
        parts = [
            f"Frames: {describe_found(focus, 'areas')}{larger} of each head, the strongest bold"
        ]
        if attention.chosen is not None:
            parts.append("white: what was read")
        if to_itself:
            parts.append("dashed: the chosen cells")
        parts.append("tint: the share of each cell")
    return "; ".join(parts) + "."
