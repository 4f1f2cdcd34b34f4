"""Glimpses follow the locator, and only rewards train it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from areaviz.models.digits import Ram, RamConfig, compute_reading_loss
from tests.models.stripes import SIDE, learned, looked_at, point_apart

CONFIG = RamConfig(glimpses=3, side=6, scales=2, width=16, classes=2)


@pytest.fixture
def ram() -> Ram:
    torch.manual_seed(0)
    return Ram(CONFIG)


def test_first_look_is_central_and_locator_chooses_next(ram: Ram) -> None:
    with torch.no_grad():
        ram.locator.weight.zero_()
        ram.locator.bias.copy_(torch.atanh(torch.tensor([0.5, -0.5])))
    reading = ram(torch.rand(2, SIDE, SIDE), sample=False)
    assert reading.corners is not None
    middles_BT2 = reading.corners[:, :, 0].mean(2)
    # The place (x, y) is half way from the middle to the right edge and to the top.
    wanted = torch.tensor([[12.0, 12.0], [18.0, 6.0], [18.0, 6.0]])
    torch.testing.assert_close(middles_BT2, wanted.expand(2, 3, 2))


def test_place_follows_from_the_previous_look(ram: Ram) -> None:
    """The pictures differ at the first glimpse, so their second places differ."""
    pictures = torch.zeros(2, SIDE, SIDE)
    pictures[1, 9:15, 9:15] = 1
    point_apart(ram.locator, ram, pictures)
    reading = ram(pictures, sample=False)
    assert reading.corners is not None
    first, second = reading.corners[:, :2, 0].mean(2).unbind(1)
    assert torch.equal(first[0], first[1])
    # The places are the middle, and tanh(1) of the way to the right edge.
    torch.testing.assert_close(second, torch.tensor([[12.0, 12.0], [21.0, 12.0]]))


def test_rewards_train_only_the_locator(ram: Ram) -> None:
    reading = ram(torch.rand(4, SIDE, SIDE), sample=True)
    assert reading.log_probability is not None
    reading.log_probability.sum().backward()
    learning = {name for name, value in ram.named_parameters() if value.grad is not None}
    assert learning == {"locator.weight", "locator.bias"}
    assert ram.locator.weight.grad is not None and bool(ram.locator.weight.grad.any())


def test_locator_learns_only_from_correctness(ram: Ram) -> None:
    reading = ram(torch.rand(4, SIDE, SIDE), sample=True)
    answers = torch.nn.functional.cross_entropy(reading.answers[:, 0], torch.zeros(4).long())
    (found,) = torch.autograd.grad(
        answers, ram.locator.weight, retain_graph=True, allow_unused=True
    )
    assert found is None
    (found,) = torch.autograd.grad(
        compute_reading_loss(reading, torch.zeros(4, 1).long(), 0.1), ram.locator.weight
    )
    assert bool(found.any())


def test_two_digits_are_answered_at_their_own_looks() -> None:
    torch.manual_seed(0)
    ram = Ram(replace(CONFIG, digits=2))
    with torch.no_grad():
        ram.core.weight.normal_(std=0.4)
        ram.locator.weight.normal_()
    reading = ram(torch.rand(4, SIDE, SIDE), sample=False)
    assert reading.corners is not None and reading.aims is not None
    assert reading.logits.shape[1] == 6 and reading.answers.shape == (4, 2, 2)
    torch.testing.assert_close(reading.answers, reading.logits[:, [2, 5]])
    middles_BT2 = reading.corners[:, :, 0].mean(2) / SIDE * 2 - 1
    # Consecutive glimpses are at different places, so a wrong glimpse would be noticed.
    assert (middles_BT2[:, 1:] - middles_BT2[:, :-1]).abs().amax((0, 2)).min() > 0.2
    # Glimpse 0 is at the middle. Glimpses 1 and 2 are chosen for the first digit, 3 to 5 for the
    # second.
    torch.testing.assert_close(reading.aims[:, 0], middles_BT2[:, 1:3], atol=0.1, rtol=0)
    torch.testing.assert_close(reading.aims[:, 1], middles_BT2[:, 3:5], atol=0.1, rtol=0)


def test_tiny_network_learns_where_to_look() -> None:
    torch.manual_seed(0)
    network = Ram(RamConfig(glimpses=2, side=6, scales=2, width=32, std=0.2, classes=2))
    fresh = looked_at(network, look=1)
    assert looked_at(learned(network, updates=300), look=1).spread > 2 > 0.5 > fresh.spread
