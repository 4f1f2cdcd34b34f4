"""Lesson 9: what areas cost: additions to build them, multiplications to attend to them."""

from __future__ import annotations

from dataclasses import dataclass

from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.axes import axes_layout
from areaviz.lessons.board import BLUE, GREEN, GREY, ORANGE, VERMILION
from areaviz.trace.areas import AreaGrid

DEPTH = 64
"""Numbers in a key or a value: one attention head of the Base Transformer."""
LARGEST = 10

Curve = tuple[str, str, list[int]]
"""What it is, its colour, its operations for every area size."""


@dataclass(frozen=True, slots=True)
class Building:
    """Additions to get the sum of every area, for one number of the item vectors."""

    areas: int
    naive: int
    table: int
    recurrence: int


@dataclass(frozen=True, slots=True)
class Attending:
    """Multiplications and additions of one head when every item is also a query."""

    regular: int
    areas: int
    factored: int


def building(grid: AreaGrid) -> Building:
    """Count the additions of the three ways to sum every area."""
    naive = sum(int(size) - 1 for size in grid.sizes())
    table = grid.height * (grid.width - 1) + grid.width * (grid.height - 1) + 3 * grid.count
    return Building(grid.count, naive, table, grid.count - grid.items)


def attending(grid: AreaGrid, depth: int = DEPTH) -> Attending:
    """Count the work of regular attention, of attention to built areas, and of the factored form.

    Queries Q = items M; each product of a query and a key or of a weight and a value counts 2 D.
    The factored form pays for the items and then one addition an area for the logits and for the
    coverage.
    """
    queries, items = grid.items, grid.items
    regular = queries * items * 4 * depth
    return Attending(regular, queries * grid.count * 4 * depth, regular + queries * 2 * grid.count)


def worthwhile(counts: list[Building]) -> int | None:
    """The smallest area size, counted from 1, from which the table takes fewer additions than one
    by one.
    """
    return next(
        (size for size, count in enumerate(counts, start=1) if count.table < count.naive), None
    )


def grids(kind: str, side: int) -> list[AreaGrid]:
    """The area sizes of the curves: spans of 1 to 10 items, or squares of 1x1 to 10x10."""
    if kind == "sequence":
        return [AreaGrid(1, side, 1, size) for size in range(1, min(LARGEST, side) + 1)]
    return [AreaGrid(side, side, size, size) for size in range(1, min(LARGEST, side) + 1)]


def building_figure(kind: str, side: int, size: int) -> Figure:
    """How many additions does it take to build every area?"""
    counts = [building(grid) for grid in grids(kind, side)]
    curves = [
        ("one by one", VERMILION, [count.naive for count in counts]),
        ("table", ORANGE, [count.table for count in counts]),
        ("recurrence", BLUE, [count.recurrence for count in counts]),
        ("areas", GREY, [count.areas for count in counts]),
    ]
    return _figure(curves, kind, size, "additions a feature")


def attending_figure(kind: str, side: int, size: int) -> Figure:
    """How much work is the attention itself?"""
    counts = [attending(grid) for grid in grids(kind, side)]
    curves = [
        ("regular", GREEN, [count.regular for count in counts]),
        ("factored", BLUE, [count.factored for count in counts]),
        ("built areas", VERMILION, [count.areas for count in counts]),
    ]
    return _figure(curves, kind, size, "operations a head")


def table(kind: str, side: int) -> Table:
    """The numbers behind both pictures."""
    rows = []
    for size, grid in enumerate(grids(kind, side), start=1):
        built, attended = building(grid), attending(grid)
        counts = (built.areas, built.naive, built.table, built.recurrence)
        work = (attended.regular, attended.areas, attended.factored)
        rows.append(
            (
                size if kind == "sequence" else f"{size} × {size}",
                *(f"{n:,}" for n in (*counts, *work)),
            )
        )
    names = (
        "Areas",
        "One by one",
        "Table",
        "Recurrence",
        "Regular attention",
        "Built areas",
        "Factored",
    )
    return Table(("Largest area", *names), rows)


def _figure(curves: list[Curve], kind: str, size: int, unit: str) -> Figure:
    sizes = list(range(1, len(curves[0][2]) + 1))
    data = [_line(sizes, curve, kind) for curve in curves]
    span = "largest area, items" if kind == "sequence" else "largest area, items a side"
    layout = axes_layout(300, span, unit, legend_rows=2) | {"shapes": [_mark(size)]}
    layout["xaxis"] |= {"dtick": 1, "range": [0.7, len(sizes) + 0.3]}
    layout["yaxis"] |= {"rangemode": "tozero", "tickformat": "~s", "nticks": 6}
    return Figure(data=data, layout=layout)


def _line(sizes: list[int], curve: Curve, kind: str) -> dict[str, object]:
    name, colour, counts = curve
    extent = "%{x}" if kind == "sequence" else "%{x} × %{x}"
    hover = f"{name}, areas up to {extent}: %{{y:,}}<extra></extra>"
    trace = {
        "x": sizes,
        "y": counts,
        "name": name,
        "line": {"color": colour, "width": 2.5},
        "hovertemplate": hover,
    }
    return {"type": "scatter", "mode": "lines+markers", **trace}


def _mark(size: int) -> dict[str, object]:
    line = {"color": GREY, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": size, "x1": size, "yref": "paper", "y0": 0, "y1": 1, "line": line}
