"""The numbers under the image grid: which areas of a picture the chosen queries attend to, or who
attends to cells.

Shapes: H heads, Q queries, A areas, N cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.drawing.base import Table
from areaviz.drawing.select import groups
from areaviz.interactive.ribbon_table import items_text
from areaviz.trace.areas import Area, AreaGrid, area_text
from areaviz.trace.query import attended, item_shares, smallest_area
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus
from areaviz.trace.weights import largest

TOP = 5
"""Areas of a head and query that are listed, and at most drawn."""
COLUMNS = ("query", "head", "area", "row", "column", "height", "width", "weight", "read")


@dataclass(frozen=True, slots=True)
class Place:
    """One area a head attends to on behalf of some queries; read: whether hard
    attention read it.
    """

    queries: tuple[int, ...]
    head: int
    area: Area
    weight: float
    read: bool = False


def grid_table(trace: Trace, focus: Focus) -> Table:
    """Every head's top areas for the chosen queries (all queries when none is chosen), what was
    read first.

    Rows and columns count from 1. On the memory side: the queries that give most of their attention
    to the cells.
    """
    attention = trace.maps[focus.site]
    query = trace.fields[attention.query]
    rows = []
    for place in places_of(trace, focus):
        area, read = place.area, "yes" if place.read else ""
        who = query_text(query, place.queries, attention.grid)
        shape = (area.top + 1, area.left + 1, area.height, area.width)
        rows.append((who, place.head + 1, area_text(area), *shape, round(place.weight, 4), read))
    return Table(COLUMNS, rows)


def places_of(trace: Trace, focus: Focus, k: int = TOP) -> list[Place]:
    """What the table lists: the k heaviest a head and query (several chosen queries are
    averaged).
    """
    attention = trace.maps[focus.site]
    heads = range(attention.heads) if focus.head is None else [focus.head]
    if focus.side == "memory" and focus.items:
        return [place for head in heads for place in _attending(attention, focus, head, k)]
    singles = [tuple(range(*run)) for run in groups(trace.fields[attention.query], focus.unit)]
    asked = [focus.items] if focus.items else singles
    return [
        place
        for group in asked
        for head in heads
        for place in _attended(attention, focus, head, group, k)
    ]


def query_text(field: Field, items: Sequence[int], grid: AreaGrid) -> str:
    """What queries read as: their text, or where their cells lie."""
    return items_text(field, items) if field.kind == "text" else cells_text(items, grid)


def cells_text(items: Sequence[int], grid: AreaGrid) -> str:
    """Where cells lie: as one area where they fill it, otherwise one by one."""
    box = box_of(items, grid)
    if box.size == len(set(items)):
        return area_text(box)
    return " + ".join(area_text(box_of([item], grid)) for item in items)


def box_of(items: Sequence[int], grid: AreaGrid) -> Area:
    """The smallest area that holds all these cells; it may be larger than the grid's."""
    rows, columns = np.divmod(np.asarray(items), grid.width)
    top, left = int(rows.min()), int(columns.min())
    return Area(top, left, int(rows.max()) - top + 1, int(columns.max()) - left + 1)


def _attended(
    attention: AttentionMap, focus: Focus, head: int, group: tuple[int, ...], k: int
) -> list[Place]:
    """The heaviest areas of the mean over a group of queries; of one query, the area that was read
    comes first.
    """
    mean_A = attention.weights[focus.layer, head, list(group)].mean(0)
    tops = attended(mean_A, attention.grid, k, min_size=smallest_area(attention, focus))
    found = [Place(group, head, top.area, top.weight) for top in tops]
    if attention.chosen is None or len(group) > 1:
        return found
    index = int(attention.chosen[focus.layer, head, group[0]])
    read = Place(group, head, attention.grid.area(index), float(mean_A[index]), read=True)
    return [read, *(place for place in found if place.area != read.area)][:k]


def _attending(attention: AttentionMap, focus: Focus, head: int, k: int) -> list[Place]:
    """The queries that give the largest share of their attention to the chosen cells together."""
    items = list(focus.items)
    shares_Q = item_shares(attention, focus.layer, head)[:, items].sum(1)
    best = largest(shares_Q, k)
    box = box_of(items, attention.grid)
    pairs = zip(best.index.tolist(), best.weight.tolist(), strict=True)
    return [Place((query,), head, box, share) for query, share in pairs if query >= 0]
