"""Hard choices: their frequencies, their log-probabilities, and REINFORCE against gradients that
are known exactly.
"""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal

from areaviz.attention.hard import choose_item, reinforce, sample_place

REWARDS = torch.tensor([3.0, 2.0])


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def arm_gradients(logits: Tensor, baseline: float) -> Tensor:
    """The gradient of the surrogate for either arm of a bandit, the expected reward's
    sign: [2, 2].
    """
    gradients = []
    for arm in (0, 1):
        chances = torch.log_softmax(logits, 0)
        loss = reinforce(
            chances[arm].view(1, 1), REWARDS[arm].view(1, 1), torch.full((1, 1), baseline)
        )
        gradients.append(-torch.autograd.grad(loss, logits)[0])
    return torch.stack(gradients)


@pytest.mark.parametrize("baseline", [0.0, 2.5, -7.0])
def test_on_average_over_both_arms_the_gradient_is_the_exact_one(baseline: float) -> None:
    logits = torch.tensor([0.4, -0.3], requires_grad=True)
    chances = torch.softmax(logits, 0)
    exact = torch.autograd.grad(chances @ REWARDS, logits)[0]
    torch.testing.assert_close(chances.detach() @ arm_gradients(logits, baseline), exact)


def test_the_expected_reward_as_baseline_lowers_the_variance() -> None:
    logits = torch.tensor([0.4, -0.3], requires_grad=True)
    chances = torch.softmax(logits, 0).detach()
    variance = []
    for baseline in (0.0, float(chances @ REWARDS)):
        gradients = arm_gradients(logits, baseline)
        variance.append(float(chances @ (gradients - chances @ gradients).square().sum(1)))
    assert variance[1] < variance[0] / 20


def test_two_choices_in_a_row_with_a_baseline_that_knows_the_first() -> None:
    """Every pair of choices is enumerated; what is known before a choice may enter its baseline."""
    logits = torch.tensor([[0.2, -0.5], [1.0, 0.3]], dtype=torch.float64, requires_grad=True)
    rewards = torch.tensor([[1.0, 4.0], [-2.0, 0.5]], dtype=torch.float64)
    later = torch.tensor([2.0, -1.0], dtype=torch.float64)
    chances = torch.softmax(logits, 1)
    exact = torch.autograd.grad(torch.einsum("a,b,ab->", chances[0], chances[1], rewards), logits)[
        0
    ]
    expected = torch.zeros_like(exact)
    for first, second in product((0, 1), (0, 1)):
        logs = torch.log_softmax(logits, 1)
        both = torch.stack([logs[0, first], logs[1, second]]).view(1, 2)
        baseline = torch.stack([torch.tensor(0.7, dtype=torch.float64), later[first]]).view(1, 2)
        loss = reinforce(both, rewards[first, second].expand(1, 2), baseline)
        expected -= both.sum().exp().detach() * torch.autograd.grad(loss, logits)[0]
    torch.testing.assert_close(expected, exact)


def test_choices_are_summed_and_pictures_averaged() -> None:
    logs, reward = -torch.rand(3, 4), torch.rand(3, 4)
    baseline = torch.rand(3, 4)
    wanted = (
        -sum(
            float(logs[b, t] * (reward[b, t] - baseline[b, t])) for b in range(3) for t in range(4)
        )
        / 3
    )
    error = float((reward - baseline).square().sum()) / 12
    assert reinforce(logs, reward, baseline).item() == pytest.approx(wanted + error, abs=1e-5)


def test_choices_and_baseline_teach_each_other_nothing() -> None:
    logs, baseline = (
        torch.tensor([[-0.5, -1.5]], requires_grad=True),
        torch.tensor([[0.2, 0.9]], requires_grad=True),
    )
    reward = torch.tensor([[1.0, 0.0]])
    reinforce(logs, reward, baseline).backward()
    torch.testing.assert_close(logs.grad, baseline.detach() - reward)
    # The derivative of the mean of (b - R)^2 over two choices.
    torch.testing.assert_close(baseline.grad, baseline.detach() - reward)


@pytest.mark.parametrize("scale", [0.1, 3.0], ids=["inside", "cut to the picture"])
def test_a_place_has_the_log_probability_of_its_draw(scale: float) -> None:
    mean = (torch.rand(64, 2) * 2 - 1).mul(scale).requires_grad_()
    torch.manual_seed(7)
    places, logs = sample_place(mean, 0.2, sample=True)
    torch.manual_seed(7)
    draw = mean.detach() + 0.2 * torch.randn(64, 2)
    torch.testing.assert_close(places, draw.clamp(-1, 1))
    assert bool((places != draw).any()) == (scale > 1)
    torch.testing.assert_close(logs, Normal(mean, 0.2).log_prob(draw).sum(1))
    logs.sum().backward()
    torch.testing.assert_close(mean.grad, (draw - mean.detach()) / 0.2**2)
    assert not places.requires_grad


def test_places_scatter_around_their_mean() -> None:
    places, _ = sample_place(torch.tensor([[0.3, -0.2]]).expand(20000, 2), 0.1, sample=True)
    assert places.mean(0).tolist() == pytest.approx([0.3, -0.2], abs=0.005)
    assert places.std(0).tolist() == pytest.approx([0.1, 0.1], abs=0.005)


def test_without_sampling_the_place_is_its_mean() -> None:
    mean = torch.tensor([[0.25, -3.0], [0.5, 0.75]])
    places, logs = sample_place(mean, 0.3, sample=False)
    assert places.tolist() == [[0.25, -1.0], [0.5, 0.75]]
    torch.testing.assert_close(logs, Normal(mean, 0.3).log_prob(mean).sum(1))


def test_items_are_drawn_by_their_weight() -> None:
    weights = torch.tensor([[0.1, 0.0, 0.6, 0.3]])
    chosen, logs = choose_item(weights.expand(20000, 4), sample=True)
    assert (chosen.bincount(minlength=4) / 20000).tolist() == pytest.approx(
        weights[0].tolist(), abs=0.015
    )
    assert (chosen == 1).sum() == 0
    torch.testing.assert_close(logs, weights[0].log()[chosen])


def test_without_sampling_the_heaviest_item_is_chosen() -> None:
    weights = torch.tensor([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], requires_grad=True)
    chosen, logs = choose_item(weights, sample=False)
    assert chosen.tolist() == [1, 0]
    logs.sum().backward()
    torch.testing.assert_close(weights.grad, torch.tensor([[0, 1 / 0.6, 0], [1 / 0.5, 0, 0]]))


def test_a_choice_of_no_weight_has_a_finite_log_probability() -> None:
    logs = choose_item(torch.zeros(1, 3), sample=False)[1]
    assert torch.isfinite(logs).all()
