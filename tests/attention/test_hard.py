"""Hard choices: REINFORCE compared with exact gradients, and glimpses with loops."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Normal

from areaviz.attention.hard import (
    Retina,
    choose_exact_dtype,
    choose_item,
    compute_reinforce_loss,
    sample_place,
)

REWARDS = torch.tensor([3.0, 2.0])


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def arm_gradients(logits: Tensor, baseline: float) -> Tensor:
    """Return the estimated gradient of the expected reward for each arm of a bandit: [2, 2].

    It is the negative gradient of the loss.
    """
    gradients = []
    for arm in (0, 1):
        chances = torch.log_softmax(logits, 0)
        loss = compute_reinforce_loss(
            chances[arm].view(1, 1), REWARDS[arm].view(1, 1), torch.full((1, 1), baseline)
        )
        gradients.append(-torch.autograd.grad(loss, logits)[0])
    return torch.stack(gradients)


@pytest.mark.parametrize("baseline", [0.0, 2.5, -7.0])
def test_reinforce_gradient_is_exact_on_average(baseline: float) -> None:
    logits = torch.tensor([0.4, -0.3], requires_grad=True)
    chances = torch.softmax(logits, 0)
    exact = torch.autograd.grad(chances @ REWARDS, logits)[0]
    torch.testing.assert_close(chances.detach() @ arm_gradients(logits, baseline), exact)


def test_expected_reward_as_baseline_lowers_the_variance() -> None:
    logits = torch.tensor([0.4, -0.3], requires_grad=True)
    chances = torch.softmax(logits, 0).detach()
    variance = []
    for baseline in (0.0, float(chances @ REWARDS)):
        gradients = arm_gradients(logits, baseline)
        variance.append(float(chances @ (gradients - chances @ gradients).square().sum(1)))
    assert variance[1] < variance[0] / 20


def test_two_choices_with_dependent_baseline_are_unbiased() -> None:
    """All pairs of choices are enumerated. The second baseline may depend on the first choice."""
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
        loss = compute_reinforce_loss(both, rewards[first, second].expand(1, 2), baseline)
        expected -= both.sum().exp().detach() * torch.autograd.grad(loss, logits)[0]
    torch.testing.assert_close(expected, exact)


def test_reinforce_sums_choices_and_averages_pictures() -> None:
    logs, reward = -torch.rand(3, 4), torch.rand(3, 4)
    baseline = torch.rand(3, 4)
    wanted = (
        -sum(
            float(logs[b, t] * (reward[b, t] - baseline[b, t])) for b in range(3) for t in range(4)
        )
        / 3
    )
    error = float((reward - baseline).square().sum()) / 12
    assert compute_reinforce_loss(logs, reward, baseline).item() == pytest.approx(
        wanted + error, abs=1e-5
    )


def test_choices_and_baseline_do_not_train_each_other() -> None:
    logs, baseline = (
        torch.tensor([[-0.5, -1.5]], requires_grad=True),
        torch.tensor([[0.2, 0.9]], requires_grad=True),
    )
    reward = torch.tensor([[1.0, 0.0]])
    compute_reinforce_loss(logs, reward, baseline).backward()
    torch.testing.assert_close(logs.grad, baseline.detach() - reward)
    # This is the derivative of the mean of (b - R)^2 over two choices.
    torch.testing.assert_close(baseline.grad, baseline.detach() - reward)


@pytest.mark.parametrize("scale", [0.1, 3.0], ids=["inside", "cut to the picture"])
def test_place_has_the_log_probability_of_its_draw(scale: float) -> None:
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


def test_place_without_sampling_is_its_mean() -> None:
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


def test_heaviest_item_is_chosen_without_sampling() -> None:
    weights = torch.tensor([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]], requires_grad=True)
    chosen, logs = choose_item(weights, sample=False)
    assert chosen.tolist() == [1, 0]
    logs.sum().backward()
    torch.testing.assert_close(weights.grad, torch.tensor([[0, 1 / 0.6, 0], [1 / 0.5, 0, 0]]))


def test_choice_without_weight_has_finite_log_probability() -> None:
    logs = choose_item(torch.zeros(1, 3), sample=False)[1]
    assert torch.isfinite(logs).all()


SOME = settings(deadline=None, max_examples=40)
PLACE = st.floats(-1.5, 1.5, width=32)


def pixel(picture_HW: Tensor, x: int, y: int) -> float:
    """Return one pixel, or 0 outside the picture."""
    height, width = picture_HW.shape
    return float(picture_HW[y, x]) if 0 <= x < width and 0 <= y < height else 0.0


def slow_patch(picture_HW: Tensor, left: int, top: int, side: int, step: int) -> Tensor:
    """Compute the mean of every `step` x `step` block of the box, pixel by pixel."""
    patch = torch.zeros(side, side)
    for row in range(side):
        for column in range(side):
            first_x, first_y = left + column * step, top + row * step
            block = [
                pixel(picture_HW, first_x + x, first_y + y)
                for y in range(step)
                for x in range(step)
            ]
            patch[row, column] = sum(block) / step**2
    return patch


def random_pictures(count: int, height: int, width: int) -> Tensor:
    return torch.rand(count, height, width, generator=torch.Generator().manual_seed(0))


@SOME
@given(
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    side=st.integers(1, 4),
    scales=st.integers(1, 3),
    places=st.lists(st.tuples(PLACE, PLACE), min_size=1, max_size=2),
)
def test_every_scale_is_the_mean_of_its_box(
    height: int, width: int, side: int, scales: int, places: list[tuple[float, float]]
) -> None:
    pictures = random_pictures(len(places), height, width)
    patches, boxes = Retina(pictures, side, scales).read_patches(torch.tensor(places))
    assert patches.shape == (len(places), scales, side, side)
    assert patches.dtype == torch.float32
    assert boxes.dtype == torch.int64
    for row, (place, picture) in enumerate(zip(places, pictures, strict=True)):
        middle = [(min(max(place[axis], -1), 1) + 1) / 2 * (width, height)[axis] for axis in (0, 1)]
        for scale in range(scales):
            left, top, right, bottom = boxes[row, scale].tolist()
            assert right - left == bottom - top == side * 2**scale
            # Corners are whole pixels, so the middle is off by at most half a pixel.
            assert ((left + right) / 2, (top + bottom) / 2) == pytest.approx(middle, abs=0.5001)
            slow = slow_patch(picture, left, top, side, 2**scale)
            torch.testing.assert_close(patches[row, scale], slow, rtol=0, atol=1e-6)


def test_crops_by_hand() -> None:
    picture = torch.arange(16.0).view(1, 4, 4)
    patches, boxes = Retina(picture, 2, 2).read_patches(torch.tensor([[0.0, 0.0]]))
    assert boxes.tolist() == [[[1, 1, 3, 3], [0, 0, 4, 4]]]
    assert patches.tolist() == [[[[5, 6], [9, 10]], [[2.5, 4.5], [10.5, 12.5]]]]


def test_places_are_x_then_y() -> None:
    picture = torch.zeros(1, 4, 8)
    picture[0, 1, 6] = 1
    # The place is the middle of column 6 of 8 and of row 1 of 4.
    patches, boxes = Retina(picture, 1, 1).read_patches(torch.tensor([[13 / 8 - 1, 3 / 4 - 1]]))
    assert boxes.tolist() == [[[6, 1, 7, 2]]]
    assert patches.item() == 1


def test_glimpse_outside_the_picture_is_zero() -> None:
    patches, boxes = Retina(torch.ones(1, 4, 4), 2, 2).read_patches(torch.tensor([[-1.0, 1.0]]))
    assert boxes.tolist() == [[[-1, 3, 1, 5], [-2, 2, 2, 6]]]
    assert patches.tolist() == [[[[0, 1], [0, 0]], [[0, 1], [0, 0]]]]


def test_places_beyond_the_edge_are_clamped() -> None:
    retina = Retina(random_pictures(1, 5, 5), 3, 2)
    for beyond, edge in (((-7.0, 3.0), (-1.0, 1.0)), ((1.01, -1.01), (1.0, -1.0))):
        for found, wanted in zip(
            retina.read_patches(torch.tensor([beyond])),
            retina.read_patches(torch.tensor([edge])),
            strict=True,
        ):
            assert torch.equal(found, wanted)


def test_each_picture_is_read_at_its_own_place() -> None:
    pictures, places = (
        random_pictures(3, 6, 7),
        torch.tensor([[0.0, 0.5], [-1.0, 0.2], [0.7, -0.9]]),
    )
    together, _ = Retina(pictures, 2, 2).read_patches(places)
    alone = [Retina(pictures[i : i + 1], 2, 2).read_patches(places[i : i + 1])[0] for i in range(3)]
    assert torch.equal(together, torch.cat(alone))


def test_sums_use_the_best_precision_of_the_device() -> None:
    assert choose_exact_dtype(torch.device("mps")) == torch.float32, "it has no double"
    assert (
        choose_exact_dtype(torch.device("cpu"))
        == choose_exact_dtype(torch.device("cuda"))
        == torch.float64
    )


def test_small_means_survive_next_to_large_sums() -> None:
    # Area sums in single precision would be wrong by whole units here.
    picture = torch.full((1, 512, 512), 255.0)
    picture[0, -1, -1] = 0.125
    patches, _ = Retina(picture, 1, 1).read_patches(
        torch.tensor([[511.5 / 256 - 1, 511.5 / 256 - 1]])
    )
    assert patches.item() == 0.125
