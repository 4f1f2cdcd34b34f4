"""Lesson 6: a key that knows where an area begins and ends, by which a span can outweigh its items.

Mean keys never put a span on top; a size bias, or scores for the first and the last item, do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.drawing.theme import CLEAR
from areaviz.lessons.arithmetic import Floats, areas_of, holds, plain, softmax
from areaviz.lessons.page_parts import as_table, columns, controls, picture
from areaviz.lessons.pictures import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    QUIET,
    Board,
    draw_weights,
    tint,
)
from areaviz.trace.areas import Area, AreaGrid

WORDS = ("a", "young", "child", "runs")
ITEM_LOGITS: Floats = np.array([0.1, 1.0, 0.9, -0.4])
"""q . k of every item, made up for this page."""
GRID = AreaGrid(1, len(WORDS), 1, 3)
BEGINS, ENDS = 1, 2
"""The items whose start and end score the reader sets: "young" and "child"."""
PARTS = {"mean": BLUE, "size": PURPLE, "start": GREEN, "end": ORANGE}
"""What a logit is the sum of, and the colour of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """All areas of the four words.

    Args:
        parts: what the logits are the sums of, in the order of `PARTS`: [4, A].
        logits, weights: [A].
    """

    parts: Floats
    logits: Floats
    weights: Floats


@st.fragment
def show() -> None:
    """The weights of all areas of four words, for a size bias and two scores of one's choice."""
    found = attend(*_scores())
    left, right = columns()
    with left:
        question = (
            "Which area is the heaviest? Every area's weight in its cell, the heaviest outlined in"
            " orange."
        )
        picture(figure(found), "boundary", question)
        st.markdown(_verdict(found))
        question = (
            "What are the logits of the best item and the best span made of? Their parts side by"
            " side."
        )
        picture(parts_figure(found), "boundary-parts", question)
        as_table(table(found), "boundary")
    with right:
        st.markdown(
            "**Why mean keys never can.** With a mean key, the logit of an area is the mean of its"
            " items' logits, and a mean is never above the largest of what it is the mean of:"
        )
        st.latex(r"q\cdot\tfrac{1}{n}(k_1 + \dots + k_n) \;\le\; \max_i\; q\cdot k_i")
        st.markdown(
            "So the heaviest area is always a single item. A span can only win if its logit gets"
            " something that its items do not have. Two ways are shown here:\n- a **size bias**: a"
            " number for each size, learned for every head;\n- **boundary keys**: every item also"
            " says how well an area *begins* with it and how well one *ends* with it. Models of"
            " this project learn both from the item's key, with a vector for the area's shape."
        )
        st.latex(
            r"\begin{aligned}&q\cdot\mu + q\cdot\mathrm{start}(k_\mathrm{first}) \\ "
            r"&+ q\cdot\mathrm{end}(k_\mathrm{last}) + q\cdot e\end{aligned}"
        )
        st.markdown("The best item and the best span, with your numbers:")
        for items in (1, 2):
            st.latex(sum_equation(found, heaviest(found, items)))


def _scores() -> tuple[float, float, float]:
    one, two, three = controls("boundary", 3)
    bias = one.slider("Size bias for each further item", -1.0, 1.0, 0.0, 0.1, key="boundary-bias")
    start = two.slider("Start score of “young”", -1.0, 1.0, 0.0, 0.1, key="boundary-start")
    end = three.slider("End score of “child”", -1.0, 1.0, 0.0, 0.1, key="boundary-end")
    return bias, start, end


def _verdict(found: Boundary) -> str:
    number = heaviest(found)
    area = GRID.area(number)
    words = f"The heaviest area is **{words_of(area)}**, with {found.weights[number]:.3f}."
    if area.width == 1:
        return f"{words} It is a single item: move a slider to the right until a span overtakes it."
    return f"{words} A span of {area.width} items outweighs each of its items."


def attend(bias: float, start: float, end: float) -> Boundary:
    """The softmax over mean + bias * (size - 1) + start of the first item + end of the last.

    Args:
        bias: added for every item after the first.
        start: of an area that begins with "young".
        end: of an area that ends with "child".
    """
    rows = []
    for area in areas_of(GRID):
        after = area.left + area.width
        first = start if area.left == BEGINS else 0.0
        last = end if after - 1 == ENDS else 0.0
        rows.append((ITEM_LOGITS[area.left : after].mean(), bias * (area.width - 1), first, last))
    parts = np.array(rows).T
    logits = parts.sum(0)
    return Boundary(parts, logits, softmax(logits))


def heaviest(found: Boundary, items: int | None = None) -> int:
    """The number of the heaviest area, of those with `items` items where that is given."""
    # -1 is below every weight.
    among = found.weights if items is None else np.where(GRID.sizes() == items, found.weights, -1)
    return int(among.argmax())


def words_of(area: Area) -> str:
    """The words an area holds."""
    return " ".join(WORDS[area.left : area.left + area.width])


def figure(found: Boundary) -> Figure:
    """Which area is the heaviest? Every area's weight in its cell, the heaviest outlined."""
    top = GRID.area(heaviest(found))
    longest = GRID.max_width
    board = Board(-1.35, -0.05, len(WORDS) + 0.1, longest + 1.35, cell=66)
    draw_weights(board, GRID, found.weights, found.logits, top, words_of)
    for row in range(longest):
        length = longest - row
        board.text(-0.2, row + 0.5, f"{length} item{'s' if length > 1 else ''}", anchor="right")
    for item, word in enumerate(WORDS):
        fill = tint(ORANGE, 0.75) if holds(top, 0, item) else QUIET
        board.box(item, longest + 0.35, fill, word, height=0.8)
    return board.figure()


def parts_figure(found: Boundary) -> Figure:
    """Where do the logits of the heaviest item and span come from? Their parts, added up."""
    spans = [heaviest(found, 2), heaviest(found, 3)]
    numbers = [heaviest(found, 1), max(spans, key=lambda number: found.weights[number])]
    names = [words_of(GRID.area(number)) for number in numbers]
    data = []
    for (part, colour), values in zip(PARTS.items(), found.parts, strict=True):
        bar = {
            "type": "bar",
            "orientation": "h",
            "name": part,
            "x": values[numbers].tolist(),
            "y": names,
            "marker": {"color": colour},
            "hovertemplate": f"{part}: %{{x:.2f}}<extra></extra>",
        }
        data.append(bar)
    axis = {"fixedrange": True, "zeroline": True}
    layout = {
        "barmode": "relative",
        "height": 190,
        "margin": {"l": 4, "r": 8, "t": 30, "b": 40},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "dragmode": False,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemclick": False},
        "xaxis": axis | {"title": {"text": "logit"}},
        "yaxis": axis | {"automargin": True, "autorange": "reversed"},
    }
    return Figure(data=data, layout=layout)


def sum_equation(found: Boundary, number: int) -> str:
    """The logit of an area as the sum of its parts (LaTeX)."""
    total, *others = [plain(part, 2) for part in found.parts[:, number]]
    for part in others:
        total += part if part.startswith("-") else f" + {part}"
    words = words_of(GRID.area(number)).replace(" ", r"\ ")
    return rf"\text{{{words}}}: \; {total} = \mathbf{{{plain(found.logits[number], 2)}}}"


def table(found: Boundary) -> Table:
    """Every area with the parts of its logit and its weight."""
    rows: list[tuple[str | float, ...]] = []
    for number, area in enumerate(areas_of(GRID)):
        numbers = [*found.parts[:, number], found.logits[number]]
        values = [round(float(value), 2) for value in numbers]
        rows.append((words_of(area), *values, round(float(found.weights[number]), 4)))
    return Table(("Area", "Mean", "Size", "Start", "End", "Logit", "Weight"), rows)
