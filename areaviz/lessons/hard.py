"""Lesson 11: how a hard choice learns, by the estimate of REINFORCE (survey Eq. 15-16, 43-48).

The numbers are those of `areaviz.lessons.hard_numbers`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st
from plotly.graph_objects import Figure

from areaviz.drawing.base import Table
from areaviz.lessons.arithmetic import plain, vector
from areaviz.lessons.hard_numbers import (
    BASELINES,
    RATE,
    REWARDS,
    SCORES,
    SHOWN,
    Choice,
    Redraws,
    best,
    level,
    redraw,
    variance,
    variance_with,
)
from areaviz.lessons.page_parts import as_table, columns, controls, picture
from areaviz.lessons.pictures import (
    BLUE,
    GREEN,
    GREY,
    PAPER,
    PURPLE,
    VERMILION,
    Board,
    axes_layout,
    dots,
    lines,
    tint,
)

_AGAIN = "hard-again"
"""How often "Sample again" was clicked."""
_MARKS = {"None": GREY, "Mean reward": GREEN, "Best": PURPLE}
"""The baselines on the curve of variances; a moving average lies where the mean reward does."""


@st.fragment
def show() -> None:
    """Estimates of a gradient, for numbers of draws and baselines of the reader's choice."""
    choice = _choice()
    samples, baseline = _estimate()
    drawn = redraw(choice, samples, baseline, st.session_state.get(_AGAIN, 0))
    left, right = columns()
    with left:
        question = "Which items were taken? Three rows of cells."
        picture(items_figure(choice, drawn), "hard-items", question)
        question = (
            "How far are estimates from the gradient? A column for each score: exact slope, cloud"
            " of estimates."
        )
        picture(gradient_figure(choice, drawn), "hard-cloud", question)
        draws = "one draw" if samples == 1 else f"{samples} draws"
        st.caption(f"Each of the {SHOWN} pale points of a column is an estimate of {draws}.")
        as_table(scores_table(choice, drawn), "hard")
    with right:
        _words(choice, drawn)
    left, right = columns()
    with left:
        question = (
            "Which baseline gives the least variance? The exact curve, with the baselines on it."
        )
        picture(baseline_figure(choice, samples, baseline), "hard-baselines", question)
        as_table(baselines_table(choice, samples), "hard-baselines")
    with right:
        _baseline_words(choice, samples, baseline, drawn)


def _choice() -> Choice:
    one, two = controls("hard-choice", 2)
    weights = one.segmented_control(
        "Attention weights",
        list(SCORES),
        default="Leaning to item 2",
        required=True,
        key="hard-weights",
    )
    rewards = two.segmented_control(
        "Reward", list(REWARDS), default="Log-likelihood", required=True, key="hard-rewards"
    )
    return Choice(SCORES[weights], REWARDS[rewards])


def _estimate() -> tuple[int, str]:
    one, two, three = controls("hard-estimate", 3, "bottom")
    counts = (1, 2, 4, 8, 16, 32, 64)
    samples = one.select_slider("Draws an estimate, M", counts, value=1, key="hard-samples")
    baseline = two.selectbox("Baseline, b", BASELINES, key="hard-baseline")
    three.button("Sample again", key="hard-sample", on_click=_again)
    return int(samples), baseline


def _again() -> None:
    st.session_state[_AGAIN] = st.session_state.get(_AGAIN, 0) + 1


def _words(choice: Choice, drawn: Redraws) -> None:
    st.markdown(
        "Hard attention **draws one item** by its weight and reads nothing else (survey, Eq. 15,"
        " 16). A draw has no slope, so the scores $s$ behind the weights learn from a **reward**: 1"
        " for a right answer (Eq. 46), or how probable the drawn item made it, $\\log"
        " p(y\\,|\\,l)$. What should grow is the expected reward:"
    )
    st.latex(exact_equation(choice))
    st.markdown(
        "That asks for the reward of *every* item, so that all would have to be read. REINFORCE"
        " asks only for those drawn (Eq. 48, the part that teaches the scores):"
    )
    st.latex(estimate_equation())
    item = int(drawn.chosen[-1, 0])
    baseline = float(drawn.baselines[-1])
    st.markdown(
        "The **advantage** R − b says whether to draw this item more often or less. The first draw"
        f" took item {item + 1}; with b = {plain(baseline)} it pushes the five scores by"
    )
    st.latex(draw_equation(choice, drawn))
    reward = float(choice.rewards[drawn.chosen[-1]].mean())
    one, two, three = controls("hard-numbers", 3)
    one.metric("Reward, mean", f"{reward:.2f}")
    two.metric("Baseline", f"{baseline:.2f}")
    three.metric("Advantage, mean", f"{reward - baseline:+.2f}")


def _baseline_words(choice: Choice, samples: int, baseline: str, drawn: Redraws) -> None:
    st.markdown(
        "The $[\\,l = k\\,] - \\alpha_k$ of all items, weighted by their chances, sum to 0. So"
        " a baseline that does not know the draw moves **no** estimate on average: the cloud"
        " stays in place and only its spread, the variance, changes. A common baseline is the"
        " mean reward; in training it is learned, here as a moving average of earlier rewards"
        f" ({100 * RATE:.0f} % new)."
    )
    exact = variance_with(choice, samples, baseline)
    without = variance_with(choice, samples, "None")
    one, two, three = controls("hard-variance", 3)
    one.metric("Variance, exact", f"{exact:.3g}")
    two.metric(f"Of the last {SHOWN}", f"{drawn.variance:.3g}")
    three.metric("Times that of none", f"{exact / without:.3g}")
    st.markdown(_verdict(choice))
    st.caption("Summed over the five scores. It falls as 1/M; a baseline costs no draws.")


def _verdict(choice: Choice) -> str:
    none = variance_with(choice, 1, "None")
    mean_share = variance_with(choice, 1, "Mean reward") / none
    number = plain(best(choice))
    if mean_share > 1:
        return (
            f"Here the mean reward makes it **worse**, {mean_share:.3g} times: it gives the one"
            " likely, right draw an advantage near 0, and every rare miss a large one. The best"
            f" number is {number}."
        )
    return (
        f"Here the mean reward cuts it to **{mean_share:.3g}** of what it was; the best number, "
        f"{number}, to {variance_with(choice, 1, 'Best') / none:.3g}."
    )


def items_figure(choice: Choice, drawn: Redraws) -> Figure:
    """Which items were taken? Weight, reward and number of draws of every item."""
    counts = np.bincount(drawn.chosen[-1], minlength=len(choice.scores))
    board = Board(-1.35, -0.45, len(counts) + 0.05, 3.05, cell=58)
    for item, weight in enumerate(choice.weights):
        strength = 0.1 + 0.85 * float(weight)
        ink = PAPER if strength > 0.7 else None
        board.text(item + 0.5, -0.2, f"item {item + 1}")
        board.box(item, 0, tint(BLUE, strength), f"{weight:.2f}", ink=ink)
        board.box(item, 1, text=plain(choice.rewards[item]))
        board.item(item, 2, str(counts[item]), bool(counts[item]))
    for row, name in enumerate(("weight", "reward", "drawn")):
        board.text(-0.2, row + 0.5, name, anchor="right")
    return board.figure()


def gradient_figure(choice: Choice, drawn: Redraws) -> Figure:
    """How far are estimates from the gradient? For every score the exact slope and estimates."""
    count, items = drawn.estimates.shape
    place = np.arange(1, items + 1)
    # Multiples of the golden ratio spread the points of a column evenly, and the same every time.
    aside = (np.arange(count) * 0.618034 % 1 - 0.5) * 0.62
    beside = np.add.outer(aside, place).ravel()
    cloud = dots(beside, drawn.estimates.ravel(), f"last {count}", BLUE, 5, opacity=0.38)
    this = dots(place, drawn.estimates[-1], "this estimate", VERMILION, 12)
    this["marker"] |= {"symbol": "diamond", "line": {"color": PAPER, "width": 1}}
    exact = _slopes(choice)
    for trace in (cloud, exact, this):
        trace["hovertemplate"] = f"{trace['name']}: %{{y:.3g}}<extra></extra>"
    # One scale for all baselines, so that the clouds can be compared.
    reach = _reach(choice)
    layout = axes_layout(300, "score of item", "slope of the expected reward")
    layout["xaxis"] |= {"range": [0.5, items + 0.5], "dtick": 1, "showgrid": False}
    layout["yaxis"] |= {"range": [-reach, reach], "zeroline": True}
    layout["yaxis"]["zerolinecolor"] = tint(GREY, 0.5)
    return Figure(data=[cloud, exact, this], layout=layout)


def baseline_figure(choice: Choice, samples: int, baseline: str) -> Figure:
    """Which baseline gives the least variance? The exact curve, with the baselines on it."""
    places = [level(choice, name) for name in _MARKS]
    low = min(places)
    high = max(places)
    along = np.linspace(low - 0.25 * (high - low), high + 0.25 * (high - low), 61)
    heights = [variance(choice, samples, float(place)) for place in along]
    hover = "baseline %{x:.3g}: variance %{y:.3g}<extra></extra>"
    data = [lines(along, heights, BLUE, 2.5, showlegend=False, hovertemplate=hover)]
    lit = "Mean reward" if baseline == "Moving average" else baseline
    for (name, colour), place in zip(_MARKS.items(), places, strict=True):
        size = 8 if name == "Best" else 15  # small, as it can lie on the mean reward
        mark = dots([place], [variance(choice, samples, place)], name.lower(), colour, size)
        mark["marker"]["line"] = {"color": VERMILION, "width": 3 if name == lit else 0}
        data.append(mark)
    layout = axes_layout(270, "baseline b", "variance")
    layout["yaxis"]["range"] = [0, 1.08 * max(heights)]
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
    item = int(drawn.chosen[-1, 0])
    baseline = float(drawn.baselines[-1])
    reward = float(choice.rewards[item])
    slopes = choice.traces[item]
    minus = f"- {plain(baseline)}" if baseline >= 0 else f"+ {plain(-baseline)}"
    return (
        rf"\begin{{gathered}}({plain(reward)} {minus})\;\cdot \\ {vector(slopes, 2)} \\ "
        rf"= {vector((reward - baseline) * slopes, 2)}\end{{gathered}}"
    )


def scores_table(choice: Choice, drawn: Redraws) -> Table:
    """Every score's slope: exact, as estimated now, mean and deviation of the last estimates."""
    estimates = drawn.estimates
    known = (choice.weights, choice.rewards, choice.gradient)
    estimated = (estimates[-1], estimates.mean(0), estimates.std(0, ddof=1))
    rows = []
    for item, numbers in enumerate(zip(*known, *estimated, strict=True)):
        rows.append((f"item {item + 1}", *(plain(number, 4) for number in numbers)))
    names = ("Score of", "Weight", "Reward", "Exact slope", "This estimate")
    return Table((*names, "Mean of the last", "Deviation of the last"), rows)


def baselines_table(choice: Choice, samples: int) -> Table:
    """Every baseline with the exact variance it gives."""
    without = variance_with(choice, samples, "None")
    rows = []
    for name in BASELINES:
        exact = variance_with(choice, samples, name)
        place = plain(level(choice, name))
        rows.append((name, place, f"{exact:.4g}", f"{exact / without:.3g}"))
    return Table(("Baseline", "b", "Variance", "Times that of none"), rows)


def _slopes(choice: Choice) -> dict[str, Any]:
    """The exact slope of every score, a short level line each."""
    x = []
    y = []
    for item, slope in enumerate(choice.gradient, start=1):
        x += [item - 0.4, item + 0.4, None]
        y += [float(slope), float(slope), None]
    return lines(x, y, GREEN, 3.5, name="exact")


def _reach(choice: Choice) -> float:
    """The largest slope that any draw can give with any baseline, so that clouds compare."""
    steepest = np.abs(choice.traces).max(1)
    # Every baseline lies between 0 and the rewards, and the extremes are at the ends.
    ends = np.array([0.0, choice.rewards.min(), choice.rewards.max()])
    advantages = np.abs(choice.rewards - ends[:, None]).max(0)
    return 1.08 * float((advantages * steepest).max())
