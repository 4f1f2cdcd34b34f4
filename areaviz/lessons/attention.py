"""Lesson 4: from a query to the output by a softmax over areas (Eq. 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import (
    Floats,
    area_means,
    area_sums,
    areas_of,
    holds,
    plain,
    softmax,
    vector,
)
from areaviz.lessons.page_parts import as_table, choose, columns, controls, pick_area, picture
from areaviz.lessons.pictures import (
    BLUE,
    GREEN,
    GREY,
    QUIET,
    VERMILION,
    Board,
    axes_layout,
    dots,
    draw_weights,
    lines,
    tint,
)
from areaviz.lessons.sequence import describe
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.weights import top_areas

KEYS_ND: Floats = np.array([[1.0, 0], [0, 1], [1, 1], [2, -1]])
VALUES_ND: Floats = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One query's attention over A areas of N items.

    Args:
        query: [D].
        keys: mean key of every area [A, D].
        logits, weights: of every area [A].
        coverage: what each item receives by all the areas that hold it [N].
        output: [D].
    """

    grid: AreaGrid
    query: Floats
    keys: Floats
    logits: Floats
    weights: Floats
    coverage: Floats
    output: Floats


@st.fragment
def show() -> None:
    """Weights of all areas, coverage of the items, output, for a query of the reader's choice."""
    left, right = columns()
    with left:
        found = attend(*_query())
        chosen = pick_area("attention", found.grid, Area(0, 2, 1, 2))
        question = (
            "How much weight does each area get? Its weight in its cell, what the items receive"
            " below."
        )
        on_click = partial(choose, "attention", found.grid)
        picture(figure(found, chosen), "attention", question, on_click)
        st.caption("The more weight, the stronger the blue. Orange: the chosen area and its items.")
        as_table(table(found), "attention")
    with right:
        st.markdown(
            "Four items, each with a key and a value of two numbers. The query is multiplied with"
            " the mean key of every area (the **logit**); the softmax turns all logits into weights"
            " that sum to 1. For the chosen area:"
        )
        st.latex(logit_equation(found, chosen))
        st.markdown(_coverage_words(found))
        st.markdown(_heaviest_words(found))
        st.markdown("The **output** is every item's value times its coverage:")
        st.latex(output_equation(found))
    below, beside = columns()
    with below:
        question = (
            "Can the output be a mixture of the values? The values of the items and the output in a"
            " plane."
        )
        picture(plane(found), "plane", question)
    with beside:
        st.markdown(_mixture_words(found))
        as_table(items_table(found), "plane")


def _query() -> tuple[Floats, int]:
    one, two, three = controls("attention", 3)
    first = one.slider("Query, first number", -2.0, 2.0, 1.0, 0.5, key="attention-first")
    second = two.slider("Query, second number", -2.0, 2.0, 0.0, 0.5, key="attention-second")
    size = three.slider("Largest area, S", 1, 4, 3, key="attention-size")
    return np.array([first, second]), size


def _coverage_words(found: Attention) -> str:
    one_item = found.grid.max_width == 1
    return (
        "An item receives the weight of every area that holds it: its **coverage** (green). The"
        f" coverage sums to **{found.coverage.sum():.3f}**, the mean size of the attended areas"
        f"{', because every area is one item.' if one_item else ', not to 1.'}"
    )


def _heaviest_words(found: Attention) -> str:
    area, weight = heaviest(found)
    words = (
        f"The heaviest area is {describe(area)}, with {weight:.3f}. It is **always a single item**:"
        " a mean is never above the largest of what it is the mean of, so no area outweighs its"
        " best item."
    )
    if found.grid.max_width == 1:
        return words
    several, share = heaviest(found, 2)
    return (
        f"{words} The larger areas count by their number and by what they hold together; the"
        f" heaviest of them is {describe(several)}, with {share:.3f}. That is why the other pages"
        " can leave out single items."
    )


def _mixture_words(found: Attention) -> str:
    if found.grid.max_width == 1:
        return (
            "With S = 1 this **is** regular attention: the coverage is the attention weight, and"
            " the output is a mixture of the values, somewhere on the grey line."
        )
    return (
        "Values of an area are *sums*, so the output leaves the grey line of mixtures: attending to"
        " three items at once brings three values. Move S to 1 to see regular attention, where the"
        " output stays on the line."
    )


def attend(query: Floats, size: int) -> Attention:
    """Eq. 1 to 4 for one query, areas of up to `size` items, logits not scaled."""
    grid = AreaGrid.clamped((1, len(KEYS_ND)), (1, size))
    keys = area_means(KEYS_ND[None], grid)
    values = area_sums(VALUES_ND[None], grid)
    logits = keys @ query
    weights = softmax(logits)
    coverage = np.zeros(len(KEYS_ND))
    for area, weight in zip(areas_of(grid), weights, strict=True):
        coverage[area.left : area.left + area.width] += weight
    return Attention(grid, query, keys, logits, weights, coverage, weights @ values)


def heaviest(found: Attention, min_size: int = 1) -> tuple[Area, float]:
    """The area with the most weight among those of at least `min_size` items, and its weight."""
    number = int(top_areas(found.weights, found.grid, 1, min_size=min_size).index[0])
    return found.grid.area(number), float(found.weights[number])


def figure(found: Attention, chosen: Area) -> Figure:
    """How much weight does each area get? Its weight in its cell, what the items receive below."""
    size = found.grid.max_width
    board = Board(-1.35, -0.05, len(KEYS_ND) + 0.1, size + 2.3, cell=66)
    draw_weights(board, found.grid, found.weights, found.logits, chosen, describe)
    for row in range(size):
        board.text(-0.2, row + 0.5, f"length {size - row}", anchor="right")
    # Coverage can exceed 1; the longest bar then fills its cell.
    most = max(1.0, float(found.coverage.max()))
    for item, share in enumerate(found.coverage):
        lit = holds(chosen, 0, item)
        board.item(item, size + 0.4, f"item {item + 1}", lit, height=0.8)
        full = max(0.96 * float(share) / most, 0.1)
        board.box(item, size + 1.35, QUIET, height=0.5)
        board.box(item, size + 1.35, tint(GREEN, 0.75), width=full, height=0.5)
        board.text(item + 0.5, size + 2.05, f"{share:.3f}", size=13)
    board.text(-0.2, size + 1.6, "coverage", anchor="right")
    return board.figure()


def plane(found: Attention) -> Figure:
    """Can the output be a mixture of the values? The values, their mixtures, and the output."""
    first, second = VALUES_ND.T
    mixtures = lines([first.min(), first.max()], [second.min(), second.max()], tint(GREY, 0.35), 9)
    mixtures |= {"name": "all mixtures of the values", "hoverinfo": "skip"}
    values = dots(first, second, "value of an item", BLUE, 11)
    names = [f"v{number}" for number in range(1, len(VALUES_ND) + 1)]
    values |= {"mode": "markers+text", "text": names, "textposition": "bottom right"}
    output = dots([found.output[0]], [found.output[1]], "output", VERMILION, 15)
    output["marker"]["symbol"] = "diamond"
    layout = axes_layout(310, "first number", "second number", legend_rows=2)
    layout["xaxis"] |= {"range": [0, 18], "dtick": 4}
    layout["yaxis"] |= {"range": [0, 22], "dtick": 4}
    return Figure(data=[mixtures, values, output], layout=layout)


def logit_equation(found: Attention, chosen: Area) -> str:
    """From the mean key to the weight of the chosen area (LaTeX)."""
    number = found.grid.index(chosen)
    logit = plain(found.logits[number])
    raised = np.exp(found.logits)
    return (
        rf"\begin{{aligned}} q\cdot\mu &= {vector(found.query)}\cdot{vector(found.keys[number])} ="
        rf" {logit} \\ "
        rf"a &= \frac{{e^{{{logit}}}}}{{\sum_r e^{{q\cdot\mu_r}}}} = "
        rf"\frac{{{plain(raised[number])}}}{{{plain(raised.sum())}}} ="
        rf" \mathbf{{{found.weights[number]:.3f}}}\end{{aligned}}"
    )


def output_equation(found: Attention) -> str:
    """The output as the coverage times the item values (LaTeX)."""
    terms = []
    for share, value in zip(found.coverage, VALUES_ND, strict=True):
        terms.append(f"{share:.3f}\\,{vector(value)}")
    total = rf"{' + '.join(terms[:2])} \\ &+ {' + '.join(terms[2:])}"
    return rf"\begin{{aligned}}&{total}\\ &= \mathbf{{{vector(found.output)}}}\end{{aligned}}"


def table(found: Attention) -> Table:
    """Every area with its mean key, logit and weight."""
    rows = []
    for number, area in enumerate(areas_of(found.grid)):
        logit = found.logits[number]
        weight = found.weights[number]
        key = vector(found.keys[number])
        rows.append((describe(area), key, round(float(logit), 3), round(float(weight), 4)))
    return Table(("Area", "Mean key", "Logit", "Weight"), rows)


def items_table(found: Attention) -> Table:
    """Every item with its key, value and coverage, and the output they give."""
    rows: list[tuple[str | float, ...]] = []
    for item, share in enumerate(found.coverage):
        key = vector(KEYS_ND[item])
        value = vector(VALUES_ND[item])
        rows.append((f"item {item + 1}", key, value, round(float(share), 4)))
    rows.append(("output", "", vector(found.output), round(float(found.coverage.sum()), 4)))
    return Table(("Item", "Key", "Value", "Coverage"), rows)
