"""Pictures, formulas and tables of lesson 10; the numbers come from
`areaviz.lessons.hard_figure`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import plain, vector
from areaviz.lessons.axes import axes_layout, dots
from areaviz.lessons.board import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PAPER,
    PURPLE,
    QUIET,
    VERMILION,
    Board,
    tint,
)
from areaviz.lessons.hard_figure import BASELINES, Choice, Redraws, level, variance, variance_with


def items_figure(choice: Choice, drawn: Redraws) -> Figure:
    """Which items were taken? Weight, reward and number of draws of every item."""
    counts = np.bincount(drawn.chosen[-1], minlength=len(choice.scores))
    board = Board(-1.35, -0.45, len(counts) + 0.05, 3.05, cell=58)
    for item, (weight, reward, count) in enumerate(
        zip(choice.weights, choice.rewards, counts, strict=True)
    ):
        strength = 0.1 + 0.85 * float(weight)
        board.text(item + 0.5, -0.2, f"item {item + 1}")
        board.box(
            item, 0, tint(BLUE, strength), f"{weight:.2f}", ink=PAPER if strength > 0.7 else None
        )
        board.box(item, 1, QUIET, plain(float(reward)))
        board.box(item, 2, ORANGE if count else QUIET, str(count), ink=INK if count else None)
    for row, name in enumerate(("weight", "reward", "drawn")):
        board.text(-0.2, row + 0.5, name, anchor="right")
    return board.figure()


def gradient_figure(choice: Choice, drawn: Redraws) -> Figure:
    """How far are estimates from the gradient? A column for every score: the exact slope, estimates
    round it.
    """
    count, items = drawn.estimates.shape
    place = np.arange(1, items + 1)
    aside = (np.arange(count) * 0.618034 % 1 - 0.5) * 0.62
    cloud = dots(
        np.add.outer(aside, place).ravel(),
        drawn.estimates.ravel(),
        f"last {count}",
        BLUE,
        5,
        opacity=0.38,
    )
    this = dots(place, drawn.estimates[-1], "this estimate", VERMILION, 12)
    this["marker"] |= {"symbol": "diamond", "line": {"color": PAPER, "width": 1}}
    for trace in (cloud, this):
        trace["hovertemplate"] = f"{trace['name']}: %{{y:.3g}}<extra></extra>"
    layout = axes_layout(300, "score of item", "slope of the expected reward", legend_rows=1)
    reach = _reach(choice)
    layout["xaxis"] |= {"range": [0.5, items + 0.5], "dtick": 1, "showgrid": False}
    layout["yaxis"] |= {
        "range": [-reach, reach],
        "zeroline": True,
        "zerolinecolor": tint(GREY, 0.5),
    }
    return Figure(data=[cloud, _exact(choice), this], layout=layout)


def baseline_figure(choice: Choice, samples: int, baseline: str) -> Figure:
    """Which baseline gives the least variance? The exact curve, with the baselines on it."""
    marks = {"None": GREY, "Mean reward": GREEN, "Best": PURPLE}
    places = [level(choice, name) for name in marks]
    low, high = min(places), max(places)
    along = np.linspace(low - 0.25 * (high - low), high + 0.25 * (high - low), 61)
    heights = [variance(choice, samples, float(b)) for b in along]
    hover = "baseline %{x:.3g}: variance %{y:.3g}<extra></extra>"
    curve: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": along,
        "y": heights,
        "showlegend": False,
    }
    curve |= {"line": {"color": BLUE, "width": 2.5}, "hovertemplate": hover}
    data = [
        curve,
        *(_mark(choice, samples, name, colour, baseline) for name, colour in marks.items()),
    ]
    layout = axes_layout(270, "baseline b", "variance", legend_rows=1)
    layout["yaxis"] |= {"range": [0, 1.08 * max(heights)]}
    return Figure(data=data, layout=layout)


def exact_equation(choice: Choice) -> str:
    """The expected reward and its slope, exactly (LaTeX)."""
    return (
        rf"\begin{{aligned}}J &= \sum_l \alpha_l R_l = \mathbf{{{plain(choice.expected)}}} \\ "
        r"\frac{\partial J}{\partial s_k} &= \textcolor{#009E73}{\alpha_k\,(R_k - J)}\end{aligned}"
    )


def estimate_equation() -> str:
    """Eq. 48, its second part, for the score of item k (LaTeX)."""
    return (
        r"\textcolor{#D55E00}{\hat g_k} = \frac{1}{M}\sum_{m=1}^{M} (R_{l_m} - b)\,"
        r"\underbrace{([\,l_m = k\,] - \alpha_k)}_{\partial \log \alpha_{l_m} / \partial s_k}"
    )


def draw_equation(choice: Choice, drawn: Redraws) -> str:
    """What the first draw of the newest estimate adds, for all scores (LaTeX)."""
    item, baseline = int(drawn.chosen[-1, 0]), float(drawn.baselines[-1])
    reward = float(choice.rewards[item])
    minus = f"- {plain(baseline)}" if baseline >= 0 else f"+ {plain(-baseline)}"
    return (
        rf"\begin{{gathered}}({plain(reward)} {minus})\;\cdot \\"
        rf" {vector(choice.traces[item], 2)} \\ "
        rf"= {vector((reward - baseline) * choice.traces[item], 2)}\end{{gathered}}"
    )


def scores_table(choice: Choice, drawn: Redraws) -> Table:
    """Every score's slope: exact, as estimated now, and mean and deviation of the last
    estimates.
    """
    estimates = drawn.estimates
    columns = [choice.weights, choice.rewards, choice.gradient, estimates[-1], estimates.mean(0)]
    columns.append(estimates.std(0, ddof=1))
    rows = [
        (f"item {item + 1}", *(plain(float(x), 4) for x in row))
        for item, row in enumerate(zip(*columns, strict=True))
    ]
    names = (
        "Weight",
        "Reward",
        "Exact slope",
        "This estimate",
        "Mean of the last",
        "Deviation of the last",
    )
    return Table(("Score of", *names), rows)


def baselines_table(choice: Choice, samples: int) -> Table:
    """Every baseline with the exact variance it gives."""
    without = variance_with(choice, samples, "None")
    found = [(name, variance_with(choice, samples, name)) for name in BASELINES]
    rows = [
        (name, plain(level(choice, name)), f"{v:.4g}", f"{v / without:.3g}") for name, v in found
    ]
    return Table(("Baseline", "b", "Variance", "Times that of none"), rows)


def _mark(choice: Choice, samples: int, name: str, colour: str, chosen: str) -> dict[str, Any]:
    place = level(choice, name)
    is_chosen = name == chosen or (name, chosen) == ("Mean reward", "Moving average")
    mark = dots(
        [place],
        [variance(choice, samples, place)],
        name.lower(),
        colour,
        8 if name == "Best" else 15,
    )
    mark["marker"] |= {"line": {"color": VERMILION, "width": 3 if is_chosen else 0}}
    return mark


def _exact(choice: Choice) -> dict[str, Any]:
    x, y = [], []
    for item, slope in enumerate(choice.gradient, start=1):
        x += [item - 0.4, item + 0.4, None]
        y += [float(slope), float(slope), None]
    line = {"color": GREEN, "width": 3.5}
    hover = "exact: %{y:.3g}<extra></extra>"
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": line,
        "name": "exact",
        "hovertemplate": hover,
    }


def _reach(choice: Choice) -> float:
    """The largest slope that any draw can give with any of the baselines, so that clouds can be
    compared.
    """
    steepest = np.abs(choice.traces).max(1)
    ends = (0.0, choice.rewards.min(), choice.rewards.max())  # every baseline lies between them
    advantages = [np.abs(choice.rewards - end) for end in ends]
    return 1.08 * float((np.max(advantages, axis=0) * steepest).max())
