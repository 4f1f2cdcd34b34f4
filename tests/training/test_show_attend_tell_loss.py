"""Losses of "Show, attend and tell": even attention, and choice_loss with its reward."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
import torch

from areaviz.lab.tasks.captions import (
    RECENT,
    compute_choice_loss,
    compute_unevenness,
    show_attend_tell_loss,
)
from areaviz.models.captions import CaptionPass, ShowAttendTell, TellerConfig
from areaviz.models.tokenizer import PAD


def test_unevenness_by_hand() -> None:
    weights = torch.tensor([[[1.0, 0.0], [0.5, 0.5], [9.0, 9.0]]])
    captions = torch.tensor([[5, 6, PAD]])
    # The cells get 1.5 and 0.5 in total; attention after the end does not count.
    assert compute_unevenness(weights, captions).item() == pytest.approx((0.25 + 0.25) / 2)


def test_choice_gradient_is_exact_on_average() -> None:
    """Check two cells that each reveal one of two words.

    The mean over all draws is the exact gradient.
    """
    scores = torch.tensor([0.3, -0.4], requires_grad=True)
    likely = torch.tensor([[0.7, 0.3], [0.2, 0.8]])  # probability of the right word, by cell
    captions = torch.tensor([[4], [5]])
    usual = torch.zeros(6)
    exact = (scores.softmax(0) * likely.log()).sum(1).mean()
    (expected,) = torch.autograd.grad(-exact, scores)
    total = torch.zeros(2)
    for drawn in itertools.product([0, 1], repeat=2):
        weights = scores.softmax(0)
        chance = weights[drawn[0]] * weights[drawn[1]]
        logits = torch.full((2, 1, 6), -torch.inf)
        for sentence, word in enumerate((4, 5)):
            share = likely[sentence, drawn[sentence]]
            logits[sentence, 0, word], logits[sentence, 0, 3] = share.log(), (1 - share).log()
        log = weights.log()[list(drawn)][:, None]
        run = CaptionPass(logits, weights.expand(2, 1, 2), torch.tensor(drawn)[:, None], log)
        (gradient,) = torch.autograd.grad(
            compute_choice_loss(usual.clone(), run, captions, 0.0), scores
        )
        total += chance.detach() * gradient
    torch.testing.assert_close(total, expected)


def test_baseline_follows_each_word() -> None:
    usual = torch.full((6,), -1.0)
    logits = torch.zeros(1, 2, 6).log_softmax(2)
    run = CaptionPass(
        logits, torch.full((1, 2, 2), 0.5), torch.zeros(1, 2, dtype=torch.int64), torch.zeros(1, 2)
    )
    compute_choice_loss(usual, run, torch.tensor([[4, PAD]]), 0.0)
    assert usual[4].item() == pytest.approx(-RECENT + (1 - RECENT) * logits[0, 0, 4].item())
    assert usual[[0, 1, 2, 3, 5]].tolist() == [-1.0] * 5


def test_first_mean_of_a_word_starts_its_average() -> None:
    usual = torch.zeros(6)
    logits = torch.randn(2, 1, 6).log_softmax(2)
    run = CaptionPass(
        logits, torch.full((2, 1, 2), 0.5), torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2, 1)
    )
    compute_choice_loss(usual, run, torch.tensor([[4], [4]]), 0.0)
    assert usual[4].item() == pytest.approx(logits[:, 0, 4].mean().item())
    assert usual[[0, 1, 2, 3, 5]].tolist() == [0.0] * 5


def test_even_choices_are_rewarded() -> None:
    """Check that of two equally good distributions the more even one has the lower loss."""
    logits, captions = torch.zeros(1, 1, 6), torch.tensor([[4]])
    losses = {}
    for share in (0.5, 0.9):
        weights = torch.tensor([[[share, 1 - share]]])
        run = CaptionPass(logits, weights, torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, 1))
        losses[share] = compute_choice_loss(torch.zeros(6), run, captions, 0.1).item()
    nats = {0.5: 0.6931, 0.9: 0.3251}
    assert losses[0.9] - losses[0.5] == pytest.approx(0.1 * (nats[0.5] - nats[0.9]), abs=1e-4)


def test_openness_gradient_makes_weights_more_even() -> None:
    scores = torch.tensor([2.0, 0.0], requires_grad=True)
    captions, usual = torch.tensor([[4]]), torch.full((6,), -6.0)
    # The reward equals its expectation, so the choice itself has no gradient.
    usual[4] = torch.zeros(6).log_softmax(0)[4]
    weights = scores.softmax(0).view(1, 1, 2)
    chance = weights[..., 0].log()
    run = CaptionPass(torch.zeros(1, 1, 6), weights, torch.zeros(1, 1, dtype=torch.int64), chance)
    (gradient,) = torch.autograd.grad(compute_choice_loss(usual, run, captions, 1.0), scores)
    assert gradient[0] > 0 > gradient[1]


@pytest.mark.parametrize("kind", ["soft", "hard", "none"])
def test_every_part_of_a_network_learns(kind: str) -> None:
    torch.manual_seed(0)
    made = ShowAttendTell(
        TellerConfig(20, kind, {"side": 32, "channels": 2}, grid=4, width=8, scoring=6)
    )
    options = SimpleNamespace(label_smoothing=0.1, evenly=1.0, entropy=0.1)
    show_attend_tell_loss(
        made, torch.randn(2, 16, 16), torch.randint(4, 20, (4, 5)), options
    ).backward()
    still = {
        name
        for name, value in made.named_parameters()
        if value.grad is None or not value.grad.any()
    }
    seeing = {"key", "query", "score", "place", "gate", "from_context"} if kind == "none" else set()
    assert {name.split(".")[0] for name in still} == {"pictures", *seeing}
