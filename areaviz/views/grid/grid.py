"""The image grid: its table, its print, and the data for its script.

Read `make_grid_payload` first.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.patches import Rectangle
from PIL import Image

from areaviz.draw.labels import prepare_for_print, truncate
from areaviz.draw.select import get_display_field, group_items, list_heads, name_field
from areaviz.draw.theme import (
    HEAD_COLOURS,
    PRINT_FONT,
    SEQUENCE,
    SEQUENCE_STOPS,
    Drawing,
    finish_figure,
    get_head_colour,
    print_figure,
)
from areaviz.draw.view import Download, Table, figure_caption
from areaviz.texts.catalogue import message
from areaviz.trace.areas import (
    MAX_OVERLAP,
    Area,
    AreaGrid,
    FloatArray,
    IntArray,
    Ranked,
    format_area,
    largest_entries,
)
from areaviz.trace.query import (
    find_smallest_area_size,
    find_top_combined_areas,
    item_shares,
    make_item_area,
    map_of,
    read_areas,
)
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus, Picture
from areaviz.views.message import (
    choose_opening_items,
    choose_sent_areas,
    make_payload,
    make_text_arrays,
    make_title,
    quantise,
    shrink_integers,
)
from areaviz.views.ribbon.print import draw_key, write_text
from areaviz.views.ribbon.table import (
    describe_found,
    format_amount,
    group_by_reading,
    join_items,
    list_readings,
    name_measure,
)

# The image grid as a table: areas that queries attend to, or queries that attend to cells.
#
# Shapes: H heads, Q queries, A areas, N cells.


TOP = 5
"""Number of areas per head and query in the table, and maximum number that users can draw."""


@dataclass(frozen=True, slots=True)
class Place:
    """One area that a head attends to, for one query or for the mean of several queries."""

    queries: tuple[int, ...]
    head: int
    area: Area
    weight: float
    # Whether hard attention read the area.
    read: bool = False


def tabulate_grid(trace: Trace, focus: Focus) -> Table:
    """Return a table of the top areas of every head, in the reading of the focus.

    A reading is a way to rank areas, such as by weight or by coverage. Without selected queries,
    all queries are listed. The area that hard attention read comes first. On the memory side, the
    table lists the queries that give the largest shares of their attention to the selected cells.
    Rows and columns of the picture count from 1.
    """
    attention = trace.maps[focus.site]
    query = trace.fields[attention.query]
    rows = []
    for place in find_places(trace, focus):
        area = place.area
        who = query_text(query, place.queries, attention.grid)
        shape = (area.top + 1, area.left + 1, area.height, area.width)
        numbers = (*shape, round(place.weight, 4), "yes" if place.read else "")
        rows.append((who, place.head + 1, format_area(area), *numbers))
    shape_names = ("row", "column", "height", "width")
    columns = ("query", "head", "area", *shape_names, name_measure(focus), "read")
    # Drop the column for hard attention if attention is soft.
    return Table(columns, rows).filled()


def find_places(trace: Trace, focus: Focus) -> list[Place]:
    """Return the top areas of each head for each query, or for the mean over selected queries."""
    attention = trace.maps[focus.site]
    heads = list_heads(attention, focus.head)
    found: list[Place] = []
    if focus.side == "memory" and focus.items:
        for head in heads:
            found += _iterate_attending(attention, focus, head)
        return found
    for group in group_by_reading(trace.fields[attention.query], focus):
        for head in heads:
            found += _find_attended(attention, focus, head, group)
    return found


def query_text(field: Field, items: Sequence[int], grid: AreaGrid) -> str:
    """Return the text of queries, or the position of their cells."""
    return join_items(field, items) if field.is_text else describe_cells(items, grid)


def describe_cells(items: Sequence[int], grid: AreaGrid) -> str:
    """Return the position of cells as text. Cells that fill an area are described as this area."""
    box = find_bounding_box(items, grid)
    if box.size == len(set(items)):
        return format_area(box)
    return " + ".join(format_area(find_bounding_box([item], grid)) for item in items)


def find_bounding_box(items: Sequence[int], grid: AreaGrid) -> Area:
    """Return the smallest rectangle that contains all cells.

    It may exceed the largest area size.
    """
    rows, columns = np.divmod(np.asarray(items), grid.width)
    top, left = int(rows.min()), int(columns.min())
    return Area(top, left, int(rows.max()) - top + 1, int(columns.max()) - left + 1)


def _find_attended(
    attention: AttentionMap, focus: Focus, head: int, group: tuple[int, ...]
) -> list[Place]:
    """Return the top areas of a head for the mean over queries.

    For a single query of hard attention, the area that was read comes first.
    """
    if focus.against == "average":
        return list(_iterate_raised(attention, focus, head, group))
    if focus.reading != "heaviest":
        found = read_areas(attention, focus, head, list(group), TOP)
        return [Place(group, head, one.area, one.weight) for one in found]
    mean_A = attention.weights[focus.layer, head, list(group)].mean(0)
    tops = find_top_combined_areas(
        mean_A, attention.grid, TOP, min_size=find_smallest_area_size(attention, focus)
    )
    places = [Place(group, head, top.area, top.weight) for top in tops]
    if attention.chosen is None or len(group) > 1:
        return places
    index = int(attention.chosen[focus.layer, head, group[0]])
    read = Place(group, head, attention.grid.area(index), float(mean_A[index]), read=True)
    return [read, *(place for place in places if place.area != read.area)][:TOP]


def _iterate_raised(
    attention: AttentionMap, focus: Focus, head: int, group: tuple[int, ...]
) -> Iterator[Place]:
    """Yield the cells that get more attention than on average, with the ratio as their weight."""
    ratio_N = map_of(attention, focus.layer, head, "average")[list(group)].mean(0)
    best = largest_entries(ratio_N, TOP)
    for cell, ratio in zip(best.index.tolist(), best.weight.tolist(), strict=True):
        if ratio > 0:
            yield Place(group, head, make_item_area(attention.grid, cell), 2.0**ratio)


def _iterate_attending(attention: AttentionMap, focus: Focus, head: int) -> Iterator[Place]:
    """Yield the queries that give the largest share of their attention to the selected cells."""
    shares_QN = item_shares(attention, focus.layer, head)
    best = largest_entries(shares_QN[:, list(focus.items)].sum(1), TOP)
    box = find_bounding_box(focus.items, attention.grid)
    for query, share in zip(best.index.tolist(), best.weight.tolist(), strict=True):
        if query >= 0:
            yield Place((query,), head, box, share)


# Image grid in print: the areas of the selected items on the picture, with a panel for each word.
#
# Axes are in inches from the top left. Shapes: Q queries, N cells, H and W pixels, C channels.


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


# Image grid: users point at a word or cell and see the areas of the picture that heads attend to.
#
# The interaction runs in the browser (`areaviz/views/grid`). `make_grid_payload` computes the data
# that it needs, once per site and layer. Shapes: H heads, Q queries, A areas, N cells, K kept.


SURE, KEPT = 4, 20
"""Number of areas per head that are exact at any overlap, and number sent to the browser."""
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Values of the maximum overlap that users can choose."""
# Pairs of a number of areas and their maximum overlap, the default overlap first. Overlap 1 needs
# no entry, because the top areas are added at the end.
WANTED = ((TOP, MAX_OVERLAP), (SURE, 0.0), (SURE, 0.25), (SURE, 0.75))
GRID_TAKEAWAY = Download(
    name="grid",
    table=tabulate_grid,
    print=draw_grid,
    how_to_read=message(
        "Hover over a word or over the picture. A frame is an area that a head attends to,"
        " with the head's number in its corner. The tint is the share of attention that each"
        " cell receives, summed over areas."
    ),
)
"""The grid as files: interactive in the browser, with the selected items in print."""


def fits_grid(trace: Trace, focus: Focus) -> bool:
    """Return whether the site attends to cells of a picture, from a text or from that picture."""
    attention = trace.maps.get(focus.site)
    if attention is None or trace.request.picture is None:
        return False
    if not trace.fields[attention.memory].is_picture:
        return False
    return trace.fields[attention.query].is_text or attention.query == attention.memory


def make_grid_payload(trace: Trace, focus: Focus, most: int = KEPT) -> dict[str, Any]:
    """Build the data of one site and layer for the browser.

    The result has a `header` of plain values and `arrays` (NumPy, all unsigned):

    - `area` and `area_weight` [H, Q, K]: indices into the grid's areas, and their weights, in the
      order of `choose_areas`.
    - `area_left` [H, Q]: the weight of the heaviest area that was not kept.
    - `several`, `several_weight`, `several_left`: the same three arrays for areas of two or more
      cells, if the grid has such areas.
    - `share` [H, Q, N]: see `quantise_shares`.
    - `cells` [N, 4]: left, top, right and bottom of each cell in pixels.
    - `picture`: the bytes of a WebP file.
    - `read`, `read_weight` [H, Q]: the area that hard attention read, and its weight.
    - `start`, `end`, `word`: positions of a text that attends, see `message.make_text_arrays`.
    - smallest areas and averages, see `Readings`.

    The data depend only on the site and layer of the focus.

    Args:
        trace: a trace with a picture.
        focus: names the site and layer.
        most: maximum number of areas per query.

    Raises:
        ValueError: `fits_grid` is false for the trace and focus.
    """
    picture = trace.request.picture
    if picture is None or not fits_grid(trace, focus):
        raise ValueError(f'The site "{focus.site}" does not attend to cells of a picture.')
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    read = list_readings(attention, focus.layer, query)
    arrays = _make_attention_arrays(attention, focus.layer, min(most, KEPT)) | read.arrays
    arrays["cells"] = shrink_integers(memory.anchors, max(picture.width, picture.height))
    arrays["picture"] = encode_webp(picture)
    text = None
    if query.is_text:
        arrays |= make_text_arrays(query)
        text = {
            "title": make_title(get_display_field(trace, attention.query)),
            "raw": query.raw,
            "labels": list(query.labels),
        }
    return make_payload(
        trace,
        focus,
        arrays,
        {
            "many": SHOWN,
            "most": TOP,
            "listed": SURE,
            "overlap": MAX_OVERLAP,
            "items": choose_opening_items(trace, attention, focus.layer),
            "step": OVERLAPS[1],
        },
        text=text,
        picture={
            "title": make_title(memory),
            "size": [picture.width, picture.height],
            # Grids on one page that show the same picture are linked. They compare its digest.
            "digest": picture.digest,
            "coarse": is_coarse(picture),
        },
        colours=HEAD_COLOURS,
        heat=[colour for _, colour in SEQUENCE_STOPS],
        **read.header,
    )


def _make_attention_arrays(
    attention: AttentionMap, layer: int, most: int
) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {"share": quantise_shares(attention, layer)}
    largest = attention.grid.sizes().max()
    for name, least in (("area", 1), ("several", 2)):
        if least <= largest:
            kept = choose_areas(attention, layer, least, most)
            left = find_heaviest_left_out(attention, layer, kept, least)
            arrays[name] = shrink_integers(kept.index, attention.grid.count)
            arrays[f"{name}_weight"] = quantise(kept.weight, np.uint16)
            arrays[f"{name}_left"] = quantise(left, np.uint16)
    if attention.chosen is not None:
        read_HQ = attention.chosen[layer]
        weight_HQ1 = np.take_along_axis(attention.weights[layer], read_HQ[..., None], -1)
        arrays["read"] = read_HQ.astype(np.uint32)
        arrays["read_weight"] = quantise(weight_HQ1[..., 0], np.uint16)
    return arrays


def choose_areas(
    attention: AttentionMap, layer: int, min_size: int = 1, kept: int = KEPT
) -> Ranked:
    """Choose the areas of every query to send to the browser: indices and weights [H, Q, K].

    Users can choose a maximum overlap. An area that overlaps a heavier one by more is then hidden.
    At the default overlap, the `TOP` areas in the browser are the same as among all areas. At each
    other value of `OVERLAPS`, at least the `SURE` top areas are. The remaining places go to the
    heaviest other areas, so that little is missing from the mean over several queries. If a query
    has fewer than K areas, the rest of its row is 0.

    Args:
        attention: the attention map.
        layer: the layer, 0-based.
        min_size: areas with fewer cells are left out.
        kept: number of areas per query.
    """
    return choose_sent_areas(attention.weights[layer], attention.grid, WANTED, kept, min_size)


def find_heaviest_left_out(
    attention: AttentionMap, layer: int, kept: Ranked, min_size: int = 1
) -> FloatArray:
    """Return the weight of every query's heaviest area that is not kept: [H, Q], or 0 for none."""
    weights_HQA = np.where(attention.grid.sizes() >= min_size, attention.weights[layer], 0)
    np.put_along_axis(weights_HQA, kept.index, 0, -1)
    left_HQ: FloatArray = weights_HQA.max(-1)
    return left_HQ


def quantise_shares(attention: AttentionMap, layer: int) -> npt.NDArray[np.uint8]:
    """Return item shares relative to the largest share of their row, quantised: uint8 [H, Q, N].

    The browser decodes the values and divides each row by its sum, which restores the shares.
    """
    stored = []
    # Process one head at a time, because all heads would need as much memory as the weights.
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        largest_Q1 = shares_QN.max(-1, keepdims=True)
        relative_QN = np.zeros_like(shares_QN)
        np.divide(shares_QN, largest_Q1, out=relative_QN, where=largest_Q1 > 0)
        stored.append(quantise(relative_QN, np.uint8))
    return np.stack(stored)


def encode_webp(picture: Picture) -> npt.NDArray[np.uint8]:
    """Encode a picture as a lossless WebP file.

    It is no larger than a PNG, and encoding takes a tenth of the time.
    """
    buffer = io.BytesIO()
    Image.fromarray(picture.pixels).save(buffer, "WEBP", lossless=True, quality=0, method=0)
    return np.frombuffer(buffer.getvalue(), np.uint8)
