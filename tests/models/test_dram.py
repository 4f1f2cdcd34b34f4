"""The coarse look reaches the first glimpse, and nothing else that the model reads."""

from __future__ import annotations

import pytest
import torch

from areaviz.models.digits import ClassifierPass, Dram, DramConfig, compute_reading_loss
from tests.models.stripes import SIDE, learned, looked_at, point_apart, scenes

CONFIG = DramConfig(digits=1, glimpses=1, side=6, scales=1, width=32, coarse=8, std=0.2, classes=2)


@pytest.fixture
def dram() -> Dram:
    torch.manual_seed(0)
    return Dram(CONFIG)


def test_first_place_follows_only_the_coarse_look(dram: Dram) -> None:
    pictures = scenes(2, torch.Generator().manual_seed(2))[0]
    point_apart(dram.locator, dram, pictures)
    places = []
    for blind in (False, True):
        reading = dram(pictures, sample=False, blind=blind)
        assert reading.corners is not None
        places.append(reading.corners[:, 0, 0].mean(1))
    torch.testing.assert_close(places[0], torch.tensor([[12.0, 12.0], [21.0, 12.0]]))
    assert torch.equal(places[1][0], places[1][1])


def test_first_reward_reaches_the_coarse_look(dram: Dram) -> None:
    reading = dram(torch.rand(8, SIDE, SIDE), sample=True)
    assert reading.log_probability is not None
    reading.log_probability[:, 0].sum().backward()
    assert dram.context is not None
    for name, value in dram.context.named_parameters():
        assert value.grad is not None and bool(value.grad.any()), name


def test_reading_ignores_the_coarse_look(dram: Dram) -> None:
    reading = dram(torch.rand(8, SIDE, SIDE), sample=True)
    reading.logits.sum().backward()
    assert dram.context is not None
    assert all(value.grad is None for value in dram.context.parameters())


def test_looks_are_rewarded_for_immediate_recognition() -> None:
    """One digit has three looks, and is recognised after the second and the third."""
    logits = torch.zeros(1, 3, 2)
    logits[0, 0, 0] = logits[0, 1, 1] = logits[0, 2, 1] = 9
    gradients = {}
    for reward in ("answers", "looks"):
        chance = torch.zeros(1, 3, requires_grad=True)
        reading = ClassifierPass(logits, 1, log_probability=chance, baseline=torch.zeros(1, 3))
        compute_reading_loss(reading, torch.tensor([[1]]), 0.0, reward).backward()
        assert chance.grad is not None
        gradients[reward] = (-chance.grad[0]).tolist()
    assert gradients["answers"] == [1, 1, 1]
    assert gradients["looks"] == pytest.approx([2 / 3, 2 / 3, 1 / 3])


@pytest.mark.long
def test_tiny_network_learns_a_useful_first_look() -> None:
    torch.manual_seed(0)
    network = learned(Dram(CONFIG), updates=400)
    places = looked_at(network, look=0)
    assert places.spread > 2
    assert places.hit > 2 * places.position
