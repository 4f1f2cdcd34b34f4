"""Lesson 6: from a query to the output: logits, softmax over areas, coverage of the
items, output.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import Floats, area_means, area_sums, plain, vector
from areaviz.lessons.axes import axes_layout, dots
from areaviz.lessons.board import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PAPER,
    QUIET,
    VERMILION,
    Board,
    tint,
)
from areaviz.lessons.sequence_figure import describe
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.weights import top_areas

KEYS_ND: Floats = np.array([[1.0, 0], [0, 1], [1, 1], [2, -1]])
VALUES_ND: Floats = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])


@dataclass(frozen=True, slots=True, eq=False)
class Attention:
    """One query's attention over A areas of N items.

    keys: mean key of every area [A, D]; logits, weights: [A]; coverage: what each item receives by
    all the areas that hold it [N]; output: [D].
    """

    grid: AreaGrid
    query: Floats
    keys: Floats
    logits: Floats
    weights: Floats
    coverage: Floats
    output: Floats


def attend(query: Floats, size: int) -> Attention:
    """Eq. 1 to 4 for one query, areas of up to `size` items, logits not scaled."""
    grid = AreaGrid.clamped((1, len(KEYS_ND)), (1, size))
    keys, values = area_means(KEYS_ND[None], grid), area_sums(VALUES_ND[None], grid)
    logits = keys @ query
    weights = np.exp(logits - logits.max())
    weights = weights / weights.sum()
    return Attention(grid, query, keys, logits, weights, held(grid).T @ weights, weights @ values)


def held(grid: AreaGrid) -> Floats:
    """1 where an area holds an item, else 0: [A, N]."""
    _, left, _, width = grid.table()[:, :, None].transpose(1, 0, 2)
    item = np.arange(grid.width)
    inside: Floats = ((left <= item) & (item < left + width)).astype(np.float64)
    return inside


def heaviest(found: Attention, min_size: int = 1) -> tuple[Area, float]:
    """The area with the most weight among those of at least `min_size` items, and its weight."""
    number = int(top_areas(found.weights, found.grid, 1, min_size=min_size).index[0])
    return found.grid.area(number), float(found.weights[number])


def figure(found: Attention, chosen: Area) -> Figure:
    """How much weight does each area get? Its weight in its cell, what the items receive below."""
    grid = found.grid
    count, size = grid.width, grid.max_width
    board = Board(-1.35, -0.05, count + 0.1, size + 2.3, cell=66)
    for number, weight in enumerate(found.weights):
        area = grid.area(number)
        x, y = area.left, size - area.width
        strength = 0.1 + 0.85 * float(weight / found.weights.max())
        board.box(x, y, tint(BLUE, strength), edge=ORANGE if area == chosen else None)
        board.text(
            x + 0.5, y + 0.5, f"{weight:.3f}", size=13, ink=PAPER if strength > 0.85 else None
        )
        board.hit(
            x + 0.5,
            y + 0.5,
            f"{describe(area)}: logit {plain(float(found.logits[number]))}",
            number,
        )
    for row in range(size):
        board.text(-0.2, row + 0.5, f"length {size - row}", anchor="right")
    _draw_items(board, found, chosen, size)
    return board.figure()


def plane(found: Attention) -> Figure:
    """Can the output be a mixture of the values? The item values, what mixing them can reach, and
    the output.
    """
    low, high = VALUES_ND.min(0), VALUES_ND.max(0)
    line = {"color": tint(GREY, 0.35), "width": 9}
    reach = {
        "type": "scatter",
        "mode": "lines",
        "x": [low[0], high[0]],
        "y": [low[1], high[1]],
        "line": line,
    }
    reach |= {"name": "all mixtures of the values", "hoverinfo": "skip"}
    values = dots(VALUES_ND[:, 0], VALUES_ND[:, 1], "value of an item", BLUE, 11) | {
        "mode": "markers+text"
    }
    values |= {"text": [f"v{n + 1}" for n in range(len(VALUES_ND))], "textposition": "bottom right"}
    output = dots([found.output[0]], [found.output[1]], "output", VERMILION, 15)
    output["marker"] |= {"symbol": "diamond"}
    layout = axes_layout(310, "first number", "second number", legend_rows=2)
    layout["xaxis"] |= {"range": [0, 18], "dtick": 4}
    layout["yaxis"] |= {"range": [0, 22], "dtick": 4}
    return Figure(data=[reach, values, output], layout=layout)


def logit_equation(found: Attention, chosen: Area) -> str:
    """From the mean key to the weight of the chosen area (LaTeX)."""
    number = found.grid.index(chosen)
    key, logit, weight = (
        found.keys[number],
        float(found.logits[number]),
        float(found.weights[number]),
    )
    total = float(np.exp(found.logits).sum())
    return (
        rf"\begin{{aligned}} q\cdot\mu &= {vector(found.query)}\cdot{vector(key)} ="
        rf" {plain(logit)} \\ "
        rf"a &= \frac{{e^{{{plain(logit)}}}}}{{\sum_r e^{{q\cdot\mu_r}}}} = "
        rf"\frac{{{plain(float(np.exp(logit)))}}}{{{plain(total)}}} ="
        rf" \mathbf{{{weight:.3f}}}\end{{aligned}}"
    )


def output_equation(found: Attention) -> str:
    """The output as the coverage times the item values (LaTeX)."""
    terms = [f"{c:.3f}\\,{vector(v)}" for c, v in zip(found.coverage, VALUES_ND, strict=True)]
    return (
        rf"\begin{{aligned}}&{_broken(terms)}\\ &= \mathbf{{{vector(found.output)}}}\end{{aligned}}"
    )


def table(found: Attention) -> Table:
    """Every area with its mean key, logit and weight."""
    rows = [
        (
            describe(found.grid.area(number)),
            vector(key),
            round(float(logit), 3),
            round(float(weight), 4),
        )
        for number, (key, logit, weight) in enumerate(
            zip(found.keys, found.logits, found.weights, strict=True)
        )
    ]
    return Table(("Area", "Mean key", "Logit", "Weight"), rows)


def items_table(found: Attention) -> Table:
    """Every item with its key, value and coverage, and the output they give."""
    rows: list[tuple[str | int | float, ...]] = [
        (f"item {item + 1}", vector(KEYS_ND[item]), vector(VALUES_ND[item]), round(float(share), 4))
        for item, share in enumerate(found.coverage)
    ]
    rows.append(("output", "", vector(found.output), round(float(found.coverage.sum()), 4)))
    return Table(("Item", "Key", "Value", "Coverage"), rows)


def _draw_items(board: Board, found: Attention, chosen: Area, size: int) -> None:
    for item, share in enumerate(found.coverage):
        lit = chosen.left <= item < chosen.left + chosen.width
        board.box(
            item,
            size + 0.4,
            ORANGE if lit else QUIET,
            f"item {item + 1}",
            ink=INK if lit else None,
            height=0.8,
        )
        full = 0.96 * float(share) / max(1.0, float(found.coverage.max()))
        board.box(item, size + 1.35, QUIET, height=0.5)
        board.box(item, size + 1.35, tint(GREEN, 0.75), width=max(full, 0.1), height=0.5)
        board.text(item + 0.5, size + 2.05, f"{share:.3f}", size=13)
    board.text(-0.2, size + 1.6, "coverage", anchor="right")


def _broken(terms: list[str]) -> str:
    return f"{' + '.join(terms[:2])} \\\\ &+ {' + '.join(terms[2:])}"
