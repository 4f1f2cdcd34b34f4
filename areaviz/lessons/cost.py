"""Lesson 7: what areas cost: additions to build them, multiplications to attend to them."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.page_parts import as_table, columns, controls, picture
from areaviz.lessons.pictures import BLUE, GREEN, GREY, ORANGE, VERMILION, axes_layout, lines
from areaviz.trace.areas import AreaGrid

DEPTH = 64
"""Numbers in a key or a value: one attention head of the Base Transformer."""
LARGEST = 10
"""Largest area of the curves: items of a span, or items a side of a square."""

BUILDING = {"one by one": VERMILION, "table": ORANGE, "recurrence": BLUE, "areas": GREY}
ATTENDING = {"regular": GREEN, "factored": BLUE, "built areas": VERMILION}
"""The curves of either picture and their colours."""


@st.fragment
def show() -> None:
    """Curves of additions and of attention work against the largest area."""
    kind, side, size = _sizes()
    grid = grids(kind, side)[size - 1]
    counts = operations(grid)
    left, right = columns()
    with left:
        question = (
            "How many additions does it take to build every area? Curves against the largest area."
        )
        picture(building_figure(kind, side, size), "building", question)
    with right:
        st.markdown(
            f"**Building the areas.** Here |M| = {grid.items:,} items have {grid.count:,} areas of"
            f" up to A\u00a0=\u00a0{grid.max_height * grid.max_width} items. For each number of the"
            " item vectors it takes"
        )
        st.markdown(
            f"- {counts['one by one']:,} additions one by one, $O(|M|A^2)$\n"
            f"- {counts['table']:,} with the table, $O(|M|A)$\n"
            f"- {counts['recurrence']:,} with the running recurrence this tool uses,"
            " $O(|M|A)$"
        )
        st.markdown(_verdict(kind, side))
    left, right = columns()
    with left:
        question = "How much work is the attention itself? Curves against the largest area."
        picture(attending_figure(kind, side, size), "attending", question)
    with right:
        st.markdown(
            "**Attending to them.** A faster table does not make the attention itself faster:"
            " every one of the Q queries is still compared with every area, $O(Q|M|AD)$ for keys"
            f" of D numbers, **{counts['built areas'] / counts['regular']:.1f} times** the work of"
            " regular attention here."
        )
        st.markdown(
            "It can be avoided. The mean key times the query is the mean of the items' logits, so"
            " logits of areas are running means of logits of items; and the output is the items'"
            " values times their coverage (lesson 4). This **factored** form never builds an area"
            f" key or value: **{counts['factored'] / counts['regular']:.2f} times** regular"
            " attention."
        )
        st.caption(
            f"One head, D = {DEPTH}, every item is also a query. Counted operations, not"
            " measured time."
        )
    as_table(table(kind, side), "cost")


def _sizes() -> tuple[str, int, int]:
    one, two, three = controls("cost", 3)
    kinds = {"Sequence": "sequence", "Square grid": "grid"}
    name = one.segmented_control(
        "Memory", list(kinds), default="Sequence", required=True, key="cost-memory"
    )
    if kinds[name] == "sequence":
        lengths = (16, 32, 64, 128, 256, 512, 1024)
        side = two.select_slider("Items, |M|", lengths, value=256, key="cost-length")
        label = "Largest area, S"
        first = 5
    else:
        sides = (10, 14, 16, 24, 32)
        side = two.select_slider("Items a side", sides, value=14, key="cost-side")
        label = "Largest area, items a side"
        first = 3
    size = three.slider(label, 1, LARGEST, first, key=f"cost-size-{kinds[name]}")
    return kinds[name], int(side), int(size)


def _verdict(kind: str, side: int) -> str:
    size = worthwhile(grids(kind, side))
    when = "so it does not pay here"
    if size is not None:
        largest = f"{size} items" if kind == "sequence" else f"{size} × {size} items"
        when = f"so it pays only where areas may have {largest} or more"
    return (
        f"The table takes three additions an area, whatever its size, {when}. The recurrence takes"
        " one. Regular attention needs none: its areas are the items."
    )


def operations(grid: AreaGrid) -> dict[str, int]:
    """Operations to build all areas and to attend to them, by the names of their curves.

    Building counts the additions for one number of the item vectors: one by one, with the table,
    and where every area grows from a smaller one.

    Attending counts the multiplications and additions of one head where queries Q = items M; each
    product of a query and a key or of a weight and a value counts 2 D. The factored form pays for
    the items and then one addition an area for the logits and for the coverage.
    """
    # Cumulative sums along the rows, then down the columns.
    making_table = grid.height * (grid.width - 1) + grid.width * (grid.height - 1)
    queries = grid.items
    products = 4 * DEPTH
    regular = queries * grid.items * products
    return {
        "areas": grid.count,
        "one by one": int(grid.sizes().sum()) - grid.count,
        "table": making_table + 3 * grid.count,
        "recurrence": grid.count - grid.items,
        "regular": regular,
        "built areas": queries * grid.count * products,
        "factored": regular + queries * 2 * grid.count,
    }


def worthwhile(areas: list[AreaGrid]) -> int | None:
    """The smallest area size from which the table takes fewer additions than one by one."""
    for size, grid in enumerate(areas, start=1):
        counts = operations(grid)
        if counts["table"] < counts["one by one"]:
            return size
    return None


def grids(kind: str, side: int) -> list[AreaGrid]:
    """The area sizes of the curves: spans of 1 to 10 items, or squares of 1x1 to 10x10."""
    sizes = range(1, min(LARGEST, side) + 1)
    if kind == "sequence":
        return [AreaGrid(1, side, 1, size) for size in sizes]
    return [AreaGrid(side, side, size, size) for size in sizes]


def building_figure(kind: str, side: int, size: int) -> Figure:
    """How many additions does it take to build every area?"""
    return _figure(BUILDING, kind, side, size, "additions a feature")


def attending_figure(kind: str, side: int, size: int) -> Figure:
    """How much work is the attention itself?"""
    return _figure(ATTENDING, kind, side, size, "operations a head")


def table(kind: str, side: int) -> Table:
    """The numbers behind both pictures."""
    rows = []
    for size, grid in enumerate(grids(kind, side), start=1):
        largest = size if kind == "sequence" else f"{size} × {size}"
        rows.append((largest, *(f"{count:,}" for count in operations(grid).values())))
    names = ("Largest area", "Areas", "One by one", "Table", "Recurrence")
    return Table((*names, "Regular attention", "Built areas", "Factored"), rows)


def _figure(colours: Mapping[str, str], kind: str, side: int, size: int, unit: str) -> Figure:
    """Curves against the largest area, with a dotted line at the chosen one."""
    counts = [operations(grid) for grid in grids(kind, side)]
    sizes = list(range(1, len(counts) + 1))
    items = "items" if kind == "sequence" else "items a side"
    extent = "%{x}" if kind == "sequence" else "%{x} × %{x}"
    data = []
    for name, colour in colours.items():
        hover = f"{name}, areas up to {extent}: %{{y:,}}<extra></extra>"
        heights = [count[name] for count in counts]
        curve = lines(sizes, heights, colour, 2.5, name=name, hovertemplate=hover)
        curve["mode"] = "lines+markers"
        data.append(curve)
    mark = {
        "type": "line",
        "x0": size,
        "x1": size,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY, "width": 1, "dash": "dot"},
    }
    layout = axes_layout(300, f"largest area, {items}", unit, legend_rows=2)
    layout["shapes"] = [mark]
    layout["xaxis"] |= {"dtick": 1, "range": [0.7, len(sizes) + 0.3]}
    layout["yaxis"] |= {"rangemode": "tozero", "tickformat": "~s", "nticks": 6}
    return Figure(data=data, layout=layout)
