"""The image grid as a table: areas that queries attend to, or queries that attend to cells.

Shapes: H heads, Q queries, A areas, N cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.draw.select import list_heads
from areaviz.draw.view import Table
from areaviz.interactive.ribbon_table import group_by_reading, join_items, name_measure
from areaviz.trace.areas import Area, AreaGrid, format_area, largest_entries
from areaviz.trace.query import (
    find_smallest_area_size,
    find_top_combined_areas,
    item_shares,
    make_item_area,
    map_of,
    read_areas,
)
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus

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


def query_text(
    field: Field,
    items: Sequence[int],
    grid: AreaGrid,
) -> str:
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
    read = Place(
        group,
        head,
        attention.grid.area(index),
        float(mean_A[index]),
        read=True,
    )
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


def _iterate_attending(
    attention: AttentionMap,
    focus: Focus,
    head: int,
) -> Iterator[Place]:
    """Yield the queries that give the largest share of their attention to the selected cells."""
    shares_QN = item_shares(attention, focus.layer, head)
    best = largest_entries(shares_QN[:, list(focus.items)].sum(1), TOP)
    box = find_bounding_box(focus.items, attention.grid)
    for query, share in zip(best.index.tolist(), best.weight.tolist(), strict=True):
        if query >= 0:
            yield Place((query,), head, box, share)
