"""The image grid on paper: the chosen items' areas on the picture, several words side by side
(matplotlib).

Shapes: Q queries, N cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure as PrintFigure

from areaviz.drawing.base import caption
from areaviz.drawing.labels import clip
from areaviz.drawing.select import NAMES, groups
from areaviz.drawing.theme import finish, paper
from areaviz.interactive.grid_panel import TITLE, Panel, Spot, draw_panel, drawn_shape, panel_height
from areaviz.interactive.grid_table import Place, box_of, cells_text, places_of, query_text
from areaviz.trace.areas import area_text
from areaviz.trace.query import item_shares, smallest_area
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

MEASURE, GAP = 6.4, 0.2  # inches: width of the drawing, room between panels
TALLEST = 3.2  # inches, of a picture
PANELS = 6  # at most so many


def grid_print(trace: Trace, focus: Focus) -> PrintFigure:
    """The chosen items' areas on the picture: one panel, or one for each of several words (six at
    most).

    Without a choice the first words are shown, or the cell in the middle of a picture that attends
    to itself.
    """
    focus = _with_items(trace, focus)
    attention, picture = trace.maps[focus.site], trace.request.picture
    assert picture is not None
    panels = [_panel(trace, part) for part in _parts(trace, focus)]
    heads = _heads(trace, focus)
    columns = min(len(panels), 3)
    width = 3.0 if columns < 3 else (MEASURE - 2 * GAP) / 3
    width = min(width, TALLEST / drawn_shape(picture))
    pitch = panel_height(width, picture, len(heads)) + GAP
    whole = pitch * -(-len(panels) // columns) - GAP
    figure, axes = paper(_title(trace, focus), _note(trace, focus), caption(trace, focus), whole)
    for n, panel in enumerate(panels):
        left, top = n % columns * (width + GAP), n // columns * pitch + TITLE
        cells_N4 = trace.fields[attention.memory].anchors
        draw_panel(Spot(axes, picture, attention.grid, cells_N4, left, top, width), panel, heads)
    axes.set(xlim=(-0.02, MEASURE), ylim=(whole, 0), xticks=[], yticks=[])
    axes.set_aspect("equal", anchor="NW")
    return finish(figure)


def _with_items(trace: Trace, focus: Focus) -> Focus:
    """A focus with items: without a choice the first words, or the middle cell."""
    if focus.items:
        return focus
    attention = trace.maps[focus.site]
    query, grid = trace.fields[attention.query], attention.grid
    if query.kind == "picture":
        return replace(
            focus, side="query", items=(grid.height // 2 * grid.width + grid.width // 2,)
        )
    end = groups(query, focus.unit)[:PANELS][-1][1]
    return replace(focus, side="query", items=tuple(range(end)))


def _heads(trace: Trace, focus: Focus) -> Sequence[int]:
    return range(trace.maps[focus.site].heads) if focus.head is None else [focus.head]


def _parts(trace: Trace, focus: Focus) -> list[Focus]:
    """One focus a panel: every chosen word by itself, cells together."""
    query, chosen = trace.fields[trace.maps[focus.site].query], set(focus.items)
    if focus.side == "memory" or query.kind == "picture":
        return [focus]
    runs = [range(*run) for run in groups(query, focus.unit) if chosen & set(range(*run))]
    return [replace(focus, items=tuple(run)) for run in runs[:PANELS]]


def _panel(trace: Trace, focus: Focus) -> Panel:
    """The areas of the chosen queries; on the memory side who attends, which has a place only in a
    picture.
    """
    attention = trace.maps[focus.site]
    query, places = trace.fields[attention.query], places_of(trace, focus)
    share_QN = np.mean(
        [item_shares(attention, focus.layer, head) for head in _heads(trace, focus)], 0
    )
    if focus.side == "query":
        said = _said(trace, focus, [(place, area_text(place.area)) for place in places])
        outlined = focus.items if query.kind == "picture" else ()
        return Panel(
            _name(trace, focus), places, said, share_QN[list(focus.items)].mean(0), outlined
        )
    said = _said(
        trace,
        focus,
        [(place, query_text(query, place.queries, attention.grid)) for place in places],
    )
    if query.kind == "text":
        return Panel(
            _name(trace, focus), [], said, np.zeros(attention.grid.items, np.float32), focus.items
        )
    places = [replace(place, area=box_of(place.queries, attention.grid)) for place in places]
    share_Q: FloatArray = share_QN[:, list(focus.items)].sum(1)
    return Panel(_name(trace, focus), places, said, share_Q, focus.items)


def _said(trace: Trace, focus: Focus, named: Sequence[tuple[Place, str]]) -> list[tuple[int, str]]:
    """A line for each head: its strongest place, or what it read."""
    lines = []
    for head in _heads(trace, focus):
        top = next(((place, name) for place, name in named if place.head == head), None)
        text = "nothing"
        if top:
            text = f"{'read: ' * top[0].read}{clip(top[1], 28)} {top[0].weight:.0%}"
        lines.append((head, f"head {head + 1} {text}"))
    return lines


def _name(trace: Trace, focus: Focus) -> str:
    """What is looked at: words in quotes, cells by where they lie."""
    attention = trace.maps[focus.site]
    query = trace.fields[attention.query]
    if focus.side == "memory" or query.kind == "picture":
        return clip(cells_text(focus.items, attention.grid), 48)
    return f"“{clip(query_text(query, focus.items, attention.grid), 48)}”"


def _title(trace: Trace, focus: Focus) -> str:
    field = trace.fields[trace.maps[focus.site].query]
    kind = NAMES.get(field.name, field.name)
    if focus.side == "memory":
        return f"What of the {kind} attends to {_name(trace, focus)}"
    whose = (
        f"the {kind} {_name(trace, focus)}"
        if field.kind == "text"
        else f"{_name(trace, focus)} of the {kind}"
    )
    return f"What {whose} attends to"


def _note(trace: Trace, focus: Focus) -> str:
    """What frames and tint mean, for this attention."""
    attention = trace.maps[focus.site]
    if focus.side == "memory":
        own = (
            "; frames: the cells that give them most, by head; tint: the share each cell gives them"
        )
        return f"Dashed: the chosen cells{own * (attention.query == attention.memory)}."
    larger = " of two or more cells" * (smallest_area(attention, focus) > 1)
    parts = [f"Frames: the heaviest areas{larger} of each head, the strongest bold"]
    parts += ["white: what was read"] * (attention.chosen is not None)
    parts += ["dashed: the chosen cells"] * (attention.query == attention.memory)
    return "; ".join([*parts, "tint: the share of each cell"]) + "."
