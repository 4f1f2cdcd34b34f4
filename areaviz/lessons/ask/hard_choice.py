"""Question 11: how much does a baseline reduce the variance of hard attention's gradient?

Hard attention chooses one item at random, so its gradient can only be estimated.
"""

from __future__ import annotations

from areaviz.lessons.arithmetic import format_number
from areaviz.lessons.ask.question_parts import QuestionData, Texts, make_bar
from areaviz.lessons.hard_numbers import REWARDS, SCORES, Choice, compute_baseline_variance

CHOICE = Choice(SCORES["Leaning to item 2"], REWARDS["Log-likelihood"])


def make_question(texts: Texts) -> QuestionData:
    """Ask which share of the variance remains if the mean reward is the baseline."""
    without = compute_baseline_variance(CHOICE, 1, "None")
    calmer = compute_baseline_variance(CHOICE, 1, "Mean reward")
    ratio = without / calmer
    weights = [
        make_bar(
            texts["item"].format(
                number=number, reward=format_number(float(reward)).replace("-", "−")
            ),
            float(weight),
            2,
        )
        for number, (weight, reward) in enumerate(
            zip(CHOICE.weights, CHOICE.rewards, strict=True), start=1
        )
    ]
    numbers = {
        "names": [texts["left"]],
        "least": 0,
        "most": 100,
        "step": 5,
        "near": 5,
        "before": weights,
        "after": [make_bar(texts["without"], without, 2), make_bar(texts["with"], calmer, 2)],
        "answer": [100 / ratio],
    }
    words = {"ratio": f"{ratio:.1f}", "left": f"{100 / ratio:.0f}"}
    words |= {"reward": format_number(CHOICE.expected, 2).replace("-", "−")}
    deep = {"scores": CHOICE.scores.tolist(), "rewards": CHOICE.rewards.tolist()}
    return QuestionData(numbers, words, deep)
