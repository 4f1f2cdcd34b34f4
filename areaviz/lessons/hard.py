"""Lesson 10: how a hard choice learns, by the estimate of REINFORCE (survey Eq. 15-16
and 43-48).
"""

from __future__ import annotations

import streamlit as st

from areaviz.lessons import hard_figure as hard
from areaviz.lessons import hard_figures
from areaviz.lessons.arithmetic import plain
from areaviz.lessons.frame import as_table, columns, controls, picture

_AGAIN = "hard-again"


@st.fragment
def show() -> None:
    """Estimates of a gradient, for numbers of draws and baselines of the reader's choice."""
    choice = _choice()
    samples, baseline = _estimate()
    drawn = hard.redraw(choice, samples, baseline, st.session_state.get(_AGAIN, 0))
    left, right = columns()
    with left:
        picture(
            hard_figures.items_figure(choice, drawn),
            "hard-items",
            "Which items were taken? Three rows of cells.",
        )
        question = (
            "How far are estimates from the gradient? A column for each score: exact slope, cloud"
            " of estimates."
        )
        picture(hard_figures.gradient_figure(choice, drawn), "hard-cloud", question)
        st.caption(
            f"Each of the {hard.SHOWN} pale points of a column is an estimate of {_draws(samples)}."
        )
        as_table(hard_figures.scores_table(choice, drawn), "hard")
    with right:
        _words(choice, drawn)
    _baselines(choice, samples, baseline, drawn)


def _choice() -> hard.Choice:
    one, two = controls("hard-choice", 2)
    weights = one.segmented_control(
        "Attention weights",
        list(hard.SCORES),
        default="Leaning to item 2",
        required=True,
        key="hard-weights",
    )
    rewards = two.segmented_control(
        "Reward", list(hard.REWARDS), default="Log-likelihood", required=True, key="hard-rewards"
    )
    return hard.Choice(hard.SCORES[weights], hard.REWARDS[rewards])


def _estimate() -> tuple[int, str]:
    one, two, three = controls("hard-estimate", 3, "bottom")
    with one:
        samples = st.select_slider(
            "Draws an estimate, M", (1, 2, 4, 8, 16, 32, 64), value=1, key="hard-samples"
        )
    baseline = two.selectbox("Baseline, b", hard.BASELINES, key="hard-baseline")
    three.button("Sample again", key="hard-sample", on_click=_again)
    return int(samples), baseline


def _again() -> None:
    st.session_state[_AGAIN] = st.session_state.get(_AGAIN, 0) + 1


def _words(choice: hard.Choice, drawn: hard.Redraws) -> None:
    st.markdown(
        "Hard attention **draws one item** by its weight and reads nothing else (survey, Eq. 15,"
        " 16). A draw has no slope, so the scores $s$ behind the weights learn from a **reward**: 1"
        " for a right answer (Eq. 46), or how probable the drawn item made it, $\\log"
        " p(y\\,|\\,l)$. To raise is the expected reward:"
    )
    st.latex(hard_figures.exact_equation(choice))
    st.markdown(
        "That asks for the reward of *every* item, so that all would have to be read. REINFORCE"
        " asks only for those drawn (Eq. 48, the part that teaches the scores):"
    )
    st.latex(hard_figures.estimate_equation())
    item, baseline = int(drawn.chosen[-1, 0]), float(drawn.baselines[-1])
    st.markdown(
        "The **advantage** R − b says whether to draw this item more often or less. The first draw"
        f" took item {item + 1}; with b = {plain(baseline)} it pushes the five scores by"
    )
    st.latex(hard_figures.draw_equation(choice, drawn))
    reward = float(choice.rewards[drawn.chosen[-1]].mean())
    one, two, three = controls("hard-numbers", 3)
    one.metric("Reward, mean", f"{reward:.2f}")
    two.metric("Baseline", f"{baseline:.2f}")
    three.metric("Advantage, mean", f"{reward - baseline:+.2f}")


def _baselines(choice: hard.Choice, samples: int, baseline: str, drawn: hard.Redraws) -> None:
    left, right = columns()
    with left:
        question = (
            "Which baseline gives the least variance? The exact curve, with the baselines on it."
        )
        picture(hard_figures.baseline_figure(choice, samples, baseline), "hard-baselines", question)
        as_table(hard_figures.baselines_table(choice, samples), "hard-baselines")
    with right:
        st.markdown(
            "The $[\\,l = k\\,] - \\alpha_k$ of all items, weighted by their chances, sum to 0. So"
            " a baseline that does not know the draw moves **no** estimate on average: the cloud"
            " stays in place and only its spread, the variance, changes. A common baseline is the"
            " mean reward; in training it is learned, here as a moving average of earlier rewards"
            f" ({100 * hard.RATE:.0f} % new)."
        )
        exact, without = (hard.variance_with(choice, samples, name) for name in (baseline, "None"))
        one, two, three = controls("hard-variance", 3)
        one.metric("Variance, exact", f"{exact:.3g}")
        two.metric(f"Of the last {hard.SHOWN}", f"{drawn.variance:.3g}")
        three.metric("Times that of none", f"{exact / without:.3g}")
        st.markdown(_verdict(choice))
        st.caption("Summed over the five scores. It falls as 1/M; a baseline costs no draws.")


def _verdict(choice: hard.Choice) -> str:
    mean, best, none = (
        hard.variance_with(choice, 1, name) for name in ("Mean reward", "Best", "None")
    )
    if mean > none:
        return (
            f"Here the mean reward makes it **worse**, {mean / none:.3g} times: it gives the one"
            " likely, right draw an advantage near 0, and every rare miss a large one. The best"
            f" number is {plain(hard.best(choice))}."
        )
    return (
        f"Here the mean reward cuts it to **{mean / none:.3g}** of what it was; the best number, "
        f"{plain(hard.best(choice))}, to {best / none:.3g}."
    )


def _draws(samples: int) -> str:
    return "one draw" if samples == 1 else f"{samples} draws"
