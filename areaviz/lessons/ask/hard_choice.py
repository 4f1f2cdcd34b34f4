"""Question 11: how much calmer does a baseline make the estimate of a hard choice?"""

from __future__ import annotations

from math import log

from areaviz.lessons.arithmetic import plain
from areaviz.lessons.ask.asked import Asked, Texts, bar
from areaviz.lessons.hard_numbers import REWARDS, SCORES, Choice, variance_with

TIMES = (1, 2, 5, 20)
CHOICE = Choice(SCORES["Leaning to item 2"], REWARDS["Log-likelihood"])


def ask(texts: Texts) -> Asked:
    """Ask by what factor the mean reward as a baseline lowers the variance of one draw."""
    without = variance_with(CHOICE, 1, "None")
    calmer = variance_with(CHOICE, 1, "Mean reward")
    ratio = without / calmer
    answer = min(range(len(TIMES)), key=lambda place: abs(log(TIMES[place] / ratio)))
    weights = [
        bar(
            texts["item"].format(number=number, reward=plain(float(reward)).replace("-", "−")),
            float(weight),
            2,
        )
        for number, (weight, reward) in enumerate(
            zip(CHOICE.weights, CHOICE.rewards, strict=True), start=1
        )
    ]
    numbers = {
        "before": weights,
        "after": [bar(texts["without"], without, 2), bar(texts["with"], calmer, 2)],
        "answer": answer,
        "options": [texts["same"], *(texts["times"].format(times=times) for times in TIMES[1:])],
    }
    words = {"ratio": f"{ratio:.1f}", "reward": plain(CHOICE.expected, 2).replace("-", "−")}
    deep = {"scores": CHOICE.scores.tolist(), "rewards": CHOICE.rewards.tolist()}
    return Asked(numbers, words, deep)
