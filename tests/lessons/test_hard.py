"""Lesson 11: estimates are those of REINFORCE, variances in closed form those of all draws."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from areaviz.attention.hard import compute_reinforce_loss
from areaviz.learn import arithmetic as numbers

CHOICES = [
    numbers.Choice(scores, rewards)
    for scores in numbers.SCORES.values()
    for rewards in numbers.REWARDS.values()
]
SURE_AND_RIGHT = numbers.Choice(
    numbers.SCORES["Nearly sure of item 3"], numbers.REWARDS["Right or wrong"]
)


@pytest.mark.parametrize("choice", CHOICES)
def test_exact_gradient_matches_autograd(choice: numbers.Choice) -> None:
    scores = torch.tensor(choice.scores, requires_grad=True)
    expected = scores.softmax(0) @ torch.tensor(choice.rewards)
    expected.backward()
    assert expected.item() == pytest.approx(choice.expected)
    assert scores.grad is not None
    np.testing.assert_allclose(choice.gradient, scores.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("baseline", numbers.BASELINES)
@pytest.mark.parametrize("choice", CHOICES)
def test_estimate_equals_gradient_of_the_models(choice: numbers.Choice, baseline: str) -> None:
    drawn = numbers.redraw(choice, 4, baseline)
    scores = torch.tensor(choice.scores, requires_grad=True)
    log_weights = scores.log_softmax(0)[torch.tensor(drawn.chosen[-1])][:, None]
    rewards = torch.tensor(choice.rewards[drawn.chosen[-1]])[:, None]
    compute_reinforce_loss(
        log_weights, rewards, torch.full_like(rewards, float(drawn.baselines[-1]))
    ).backward()
    assert scores.grad is not None
    np.testing.assert_allclose(
        drawn.estimates[-1], -scores.grad.numpy(), atol=1e-12
    )  # a loss goes down, a reward up


@pytest.mark.parametrize("baseline", [-1.0, 0.0, 0.7])
@pytest.mark.parametrize("choice", CHOICES)
def test_baseline_keeps_mean_and_changes_variance(choice: numbers.Choice, baseline: float) -> None:
    estimates = (choice.rewards - baseline)[:, None] * choice.traces
    mean = sum(
        weight * estimate for weight, estimate in zip(choice.weights, estimates, strict=True)
    )
    np.testing.assert_allclose(mean, choice.gradient, atol=1e-12)
    squares = [((estimate - mean) ** 2).sum() for estimate in estimates]
    spread = sum(weight * square for weight, square in zip(choice.weights, squares, strict=True))
    assert numbers.compute_variance(choice, 1, baseline) == pytest.approx(spread)
    assert numbers.compute_variance(choice, 16, baseline) == pytest.approx(spread / 16)


@pytest.mark.parametrize("samples", [1, 8])
@pytest.mark.parametrize("baseline", numbers.BASELINES)
def test_many_estimates_agree_with_the_closed_form(
    monkeypatch: pytest.MonkeyPatch, baseline: str, samples: int
) -> None:
    monkeypatch.setattr(numbers, "SHOWN", 40_000)
    choice = numbers.Choice(numbers.SCORES["Leaning to item 2"], numbers.REWARDS["Log-likelihood"])
    drawn = numbers.redraw(choice, samples, baseline)
    assert drawn.variance == pytest.approx(
        numbers.compute_baseline_variance(choice, samples, baseline), rel=0.05
    )
    np.testing.assert_allclose(drawn.estimates.mean(0), choice.gradient, atol=0.04)


@pytest.mark.parametrize("choice", CHOICES)
def test_no_baseline_is_better_than_the_best(choice: numbers.Choice) -> None:
    least = numbers.compute_baseline_variance(choice, 1, "Best")
    assert all(
        numbers.compute_variance(choice, 1, float(b)) >= least - 1e-12
        for b in np.linspace(-4, 2, 200)
    )


def test_mean_reward_baseline_can_raise_variance() -> None:
    assert numbers.compute_baseline_variance(
        SURE_AND_RIGHT, 1, "Mean reward"
    ) > 50 * numbers.compute_baseline_variance(SURE_AND_RIGHT, 1, "None")


def test_sampling_again_adds_one_estimate() -> None:
    before, after = (numbers.redraw(CHOICES[1], 2, "Moving average", more) for more in (0, 1))
    np.testing.assert_array_equal(after.chosen[:-1], before.chosen[1:])
    np.testing.assert_allclose(after.estimates[:-1], before.estimates[1:])
    expected = (1 - numbers.HARD_RATE) * before.baselines[-1] + numbers.HARD_RATE * CHOICES[
        1
    ].rewards[before.chosen[-1]].mean()
    assert after.baselines[-1] == pytest.approx(expected)
