"""Numbers of question 11: the estimate of REINFORCE against the exact gradient.

Survey Eq. 15-16 and 43-48. Shapes: K items and their scores, M draws of one estimate, N estimates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.lessons.arithmetic import Floats, softmax

RIGHT = 2
"""The item that holds the answer, counted from 0."""
REWARDS: Mapping[str, Floats] = {
    "Right or wrong": np.array([0.0, 0, 1, 0, 0]),
    "Log-likelihood": np.array([-3.2, -2.4, -0.3, -2.8, -3.6]),
}
SCORES: Mapping[str, Floats] = {
    "Even": np.zeros(5),
    "Leaning to item 2": np.array([0.0, 1.5, 0.5, 0, -0.5]),
    "Nearly sure of item 3": np.array([0.0, 0, 3.5, 0, 0]),
}
BASELINES = ("None", "Mean reward", "Moving average", "Best")
RATE = 0.1
"""How much of a moving average is the newest reward."""
SHOWN = 200
"""Estimates in the cloud."""
EARLIER = 100
"""Estimates before those, for a moving average that starts at 0 to get near the rewards."""
SEED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One item of K that is to be chosen.

    Args:
        scores: their softmax is the chance of an item [K].
        rewards: what taking an item brings [K].
    """

    scores: Floats
    rewards: Floats

    @property
    def weights(self) -> Floats:
        """The attention weights, the chance of every item (Eq. 13): [K]."""
        return softmax(self.scores)

    @property
    def expected(self) -> float:
        """The expected reward, which is to be raised (Eq. 43)."""
        return float(self.weights @ self.rewards)

    @property
    def gradient(self) -> Floats:
        """The exact gradient of the expected reward with respect to the scores (Eq. 44): [K]."""
        slope: Floats = self.weights * (self.rewards - self.expected)
        return slope

    @property
    def traces(self) -> Floats:
        """The gradient of every item's log-weight, [item = k] - weight k: [K items, K scores]."""
        slopes: Floats = np.eye(len(self.scores)) - self.weights
        return slopes


@dataclass(frozen=True, slots=True, eq=False)
class Redraws:
    """Estimates of a gradient, the newest last.

    Args:
        chosen: the items taken, counted from 0 [N, M].
        baselines: of each estimate [N].
        estimates: of the gradient [N, K].
    """

    chosen: npt.NDArray[np.intp]
    baselines: Floats
    estimates: Floats

    @property
    def variance(self) -> float:
        """The variance of the estimates, summed over the scores."""
        return float(self.estimates.var(0, ddof=1).sum())


def redraw(choice: Choice, samples: int, baseline: str, more: int = 0) -> Redraws:
    """Return the last `SHOWN` estimates of `samples` draws each (Eq. 48); always the same draws.

    Args:
        choice: the items, their chances and rewards.
        samples: draws of one estimate.
        baseline: one of `BASELINES`.
        more: how many estimates were added since the first were drawn.
    """
    count = EARLIER + SHOWN + more
    ends = np.cumsum(choice.weights)
    # The same random numbers for all choices, so that only what the reader sets makes a change.
    uniform = np.random.default_rng(SEED).random((count, samples))
    # Rounding can leave the last end below 1.
    chosen = np.searchsorted(ends / ends[-1], uniform, side="right")
    rewards = choice.rewards[chosen]
    if baseline == "Moving average":
        baselines = _moving_averages(rewards.mean(1))
    else:
        baselines = np.full(count, level(choice, baseline))
    advantages = rewards - baselines[:, None]
    estimates = np.einsum("nm,nmk->nk", advantages, choice.traces[chosen]) / samples
    return Redraws(chosen[-SHOWN:], baselines[-SHOWN:], estimates[-SHOWN:])


def level(choice: Choice, baseline: str) -> float:
    """Where a baseline lies; a moving average on average."""
    if baseline == "None":
        return 0.0
    return best(choice) if baseline == "Best" else choice.expected


def best(choice: Choice) -> float:
    """Return the baseline that gives the least variance (Weaver and Tao 2001)."""
    pull = _pull(choice)
    return float(pull @ choice.rewards / pull.sum())


def variance(choice: Choice, samples: int, baseline: float, wander: float = 0) -> float:
    """Return the exact variance of an estimate, summed over the scores.

    Args:
        choice: the items, their chances and rewards.
        samples: draws of one estimate.
        baseline: what is subtracted from every reward.
        wander: the variance of the baseline itself.
    """
    squared = (choice.rewards - baseline) ** 2 + wander
    return float(_pull(choice) @ squared - (choice.gradient**2).sum()) / samples


def variance_with(choice: Choice, samples: int, baseline: str) -> float:
    """Return the exact variance with one of the `BASELINES`."""
    wander = 0.0
    if baseline == "Moving average":
        spread = float(choice.weights @ (choice.rewards - choice.expected) ** 2)
        wander = RATE / (2 - RATE) * spread / samples
    return variance(choice, samples, level(choice, baseline), wander)


def _pull(choice: Choice) -> Floats:
    """Return the weight times the squared gradient of every item: [K]."""
    pull: Floats = choice.weights * (choice.traces**2).sum(1)
    return pull


def _moving_averages(rewards: Floats) -> Floats:
    """Return the moving average before each reward, 0 before the first: [N] -> [N]."""
    averages = np.zeros(len(rewards))
    for number, reward in enumerate(rewards[:-1]):
        averages[number + 1] = (1 - RATE) * averages[number] + RATE * reward
    return averages
