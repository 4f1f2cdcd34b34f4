"""Numbers of question 11: estimates of the gradient by REINFORCE, and the exact gradient.

Equation numbers are those of the survey (Wang and Tax 2016). Shapes: K items and their scores, M
draws of one estimate, N estimates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.lessons.arithmetic import Floats, softmax

RIGHT = 2
"""The index of the item with the answer, from 0."""
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
"""Weight of the newest reward in the moving average."""
SHOWN = 200
"""Number of estimates that are returned."""
EARLIER = 100
"""Number of earlier estimates that are dropped.

A moving average starts at 0 and needs this time.
"""
SEED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A random choice of one of K items, as in hard attention.

    Args:
        scores: the scores of the items [K]. Their softmax is the probability of each item.
        rewards: the reward for choosing each item [K].
    """

    scores: Floats
    rewards: Floats

    @property
    def weights(self) -> Floats:
        """The attention weights, which are the probabilities of the items (Eq. 13): [K]."""
        return softmax(self.scores)

    @property
    def expected(self) -> float:
        """The expected reward, which training maximises (Eq. 43)."""
        return float(self.weights @ self.rewards)

    @property
    def gradient(self) -> Floats:
        """The exact gradient of the expected reward with respect to the scores (Eq. 44): [K]."""
        slope: Floats = self.weights * (self.rewards - self.expected)
        return slope

    @property
    def traces(self) -> Floats:
        """The gradient of the log-weight of each item with respect to the scores.

        It is [K items, K scores]: the identity matrix minus the weight of each score.
        """
        slopes: Floats = np.eye(len(self.scores)) - self.weights
        return slopes


@dataclass(frozen=True, slots=True, eq=False)
class Redraws:
    """Estimates of a gradient, the newest last.

    Args:
        chosen: the indices of the drawn items [N, M].
        baselines: the baseline of each estimate [N].
        estimates: the estimates of the gradient [N, K].
    """

    chosen: npt.NDArray[np.intp]
    baselines: Floats
    estimates: Floats

    @property
    def variance(self) -> float:
        """The variance of the estimates, summed over the scores."""
        return float(self.estimates.var(0, ddof=1).sum())


def redraw(choice: Choice, samples: int, baseline: str, more: int = 0) -> Redraws:
    """Return the last `SHOWN` estimates of the gradient (Eq. 48). The seed is fixed.

    Args:
        choice: the items with their probabilities and rewards.
        samples: the number of draws for each estimate.
        baseline: one of `BASELINES`.
        more: the number of further estimates to draw after the first ones.
    """
    count = EARLIER + SHOWN + more
    ends = np.cumsum(choice.weights)
    # Use equal random numbers for all choices, so that only the settings make a difference.
    uniform = np.random.default_rng(SEED).random((count, samples))
    # Rounding can leave the last end below 1.
    chosen = np.searchsorted(ends / ends[-1], uniform, side="right")
    rewards = choice.rewards[chosen]
    if baseline == "Moving average":
        baselines = _compute_moving_averages(rewards.mean(1))
    else:
        baselines = np.full(count, compute_baseline_level(choice, baseline))
    advantages = rewards - baselines[:, None]
    estimates = np.einsum("nm,nmk->nk", advantages, choice.traces[chosen]) / samples
    return Redraws(chosen[-SHOWN:], baselines[-SHOWN:], estimates[-SHOWN:])


def compute_baseline_level(choice: Choice, baseline: str) -> float:
    """Return the value of a baseline, or the expected value of a moving average."""
    if baseline == "None":
        return 0.0
    return find_best_baseline(choice) if baseline == "Best" else choice.expected


def find_best_baseline(choice: Choice) -> float:
    """Return the baseline with the smallest variance (Weaver and Tao 2001)."""
    pull = _weigh_gradients(choice)
    return float(pull @ choice.rewards / pull.sum())


def compute_variance(choice: Choice, samples: int, baseline: float, wander: float = 0) -> float:
    """Return the exact variance of an estimate, summed over the scores.

    Args:
        choice: the items with their probabilities and rewards.
        samples: the number of draws for each estimate.
        baseline: the value that is subtracted from every reward.
        wander: the variance of the baseline.
    """
    squared = (choice.rewards - baseline) ** 2 + wander
    return float(_weigh_gradients(choice) @ squared - (choice.gradient**2).sum()) / samples


def compute_baseline_variance(choice: Choice, samples: int, baseline: str) -> float:
    """Return the exact variance of an estimate with one of `BASELINES`, summed over the scores."""
    wander = 0.0
    if baseline == "Moving average":
        spread = float(choice.weights @ (choice.rewards - choice.expected) ** 2)
        wander = RATE / (2 - RATE) * spread / samples
    return compute_variance(choice, samples, compute_baseline_level(choice, baseline), wander)


def _weigh_gradients(choice: Choice) -> Floats:
    """Return the weight of every item times the squared norm of its gradient: [K]."""
    pull: Floats = choice.weights * (choice.traces**2).sum(1)
    return pull


def _compute_moving_averages(rewards: Floats) -> Floats:
    """Return the moving average of all rewards before each reward [N]. The first is 0."""
    averages = np.zeros(len(rewards))
    for number, reward in enumerate(rewards[:-1]):
        averages[number + 1] = (1 - RATE) * averages[number] + RATE * reward
    return averages
