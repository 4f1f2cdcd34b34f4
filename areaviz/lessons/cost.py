"""Lesson 9: what areas cost."""

from __future__ import annotations

import streamlit as st

from areaviz.lessons import cost_figure as view
from areaviz.lessons.frame import as_table, columns, controls, picture

_KINDS = {"Sequence": "sequence", "Square grid": "grid"}


@st.fragment
def show() -> None:
    """Curves of additions and of attention work against the largest area."""
    kind, side, size = _sizes()
    grid = view.grids(kind, side)[size - 1]
    built, attended = view.building(grid), view.attending(grid)
    left, right = columns()
    with left:
        question = (
            "How many additions does it take to build every area? Curves against the largest area."
        )
        picture(view.building_figure(kind, side, size), "building", question)
    with right:
        st.markdown(
            f"**Building the areas.** Here |M| = {grid.items:,} items have {grid.count:,} areas of"
            f" up to A\u00a0=\u00a0{grid.max_height * grid.max_width} items. For each number of the"
            " item vectors it takes"
        )
        st.markdown(
            f"- {built.naive:,} additions one by one, $O(|M|A^2)$\n- {built.table:,} with the"
            f" table, $O(|M|A)$\n- {built.recurrence:,} with the running recurrence this tool uses,"
            " $O(|M|A)$"
        )
        st.markdown(
            _verdict(
                view.worthwhile([view.building(other) for other in view.grids(kind, side)]), kind
            )
        )
    left, right = columns()
    with left:
        question = "How much work is the attention itself? Curves against the largest area."
        picture(view.attending_figure(kind, side, size), "attending", question)
    with right:
        st.markdown(
            "**Attending to them.** A faster table does not make the attention itself faster:"
            " every one of the Q queries is still compared with every area, $O(Q|M|AD)$ for keys"
            f" of D numbers, **{attended.areas / attended.regular:.1f} times** the work of regular"
            " attention here."
        )
        st.markdown(
            "It can be avoided. The mean key times the query is the mean of the items' logits, so"
            " logits of areas are running means of logits of items; and the output is the items'"
            " values times their coverage (lesson 6). This **factored** form never builds an area"
            f" key or value: **{attended.factored / attended.regular:.2f} times** regular"
            " attention."
        )
        st.caption(
            f"One head, D = {view.DEPTH}, every item is also a query. Counted operations, not"
            " measured time."
        )
    as_table(view.table(kind, side), "cost")


def _verdict(size: int | None, kind: str) -> str:
    largest = f"{size} items" if kind == "sequence" else f"{size} × {size} items"
    when = (
        "so it does not pay here"
        if size is None
        else f"so it pays only where areas may have {largest} or more"
    )
    return (
        f"The table takes three additions an area, whatever its size, {when}. The recurrence takes"
        " one. Regular attention needs none: its areas are the items."
    )


def _sizes() -> tuple[str, int, int]:
    one, two, three = controls("cost", 3)
    name = one.segmented_control(
        "Memory", list(_KINDS), default="Sequence", required=True, key="cost-memory"
    )
    kind = _KINDS[name]
    with two:
        if kind == "sequence":
            side = st.select_slider(
                "Items, |M|", (16, 32, 64, 128, 256, 512, 1024), value=256, key="cost-length"
            )
        else:
            side = st.select_slider("Items a side", (10, 14, 16, 24, 32), value=14, key="cost-side")
    label = "Largest area, S" if kind == "sequence" else "Largest area, items a side"
    size = three.slider(
        label, 1, view.LARGEST, 5 if kind == "sequence" else 3, key=f"cost-size-{kind}"
    )
    return kind, int(side), int(size)
