"""Location-aware attention compared with a slow version, and the effects of its options."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from areaviz.attention.additive import (
    SCORINGS,
    LocationAttention,
    compute_weights,
    make_first_weights,
)
from areaviz.trace.changes import Share

SHARE = Share("encoder-decoder")
WIDTH, CHANNELS, HIDDEN, ITEMS = 3, 4, 5, 7


def slow_score(
    attention: LocationAttention, query: Tensor, items: Tensor, before: Tensor, item: int
) -> float:
    """Compute the equation for one query and one item, number by number."""
    hidden = attention.query.weight @ query + attention.query.bias
    if attention.key is not None:
        hidden = hidden + attention.key.weight @ items[item]
    if attention.filters is not None:
        kernels = attention.filters.weight[:, 0]
        reach = kernels.shape[1] // 2
        found = torch.zeros(len(kernels))
        for number, kernel in enumerate(kernels):
            for offset in range(-reach, reach + 1):
                if 0 <= item + offset < len(before):
                    found[number] += kernel[offset + reach] * before[item + offset]
        hidden = hidden + attention.place.weight @ found
    return float(attention.score.weight[0] @ torch.tanh(hidden))


@pytest.mark.parametrize("scoring", SCORINGS)
def test_scores_follow_their_equation(scoring: str) -> None:
    torch.manual_seed(3)
    attention = LocationAttention(WIDTH, CHANNELS, HIDDEN, scoring, filters=2, reach=2)
    query, items = torch.randn(2, WIDTH), torch.randn(2, ITEMS, CHANNELS)
    before = torch.rand(2, ITEMS).softmax(1)
    with torch.no_grad():
        found = attention.compute_scores(query, attention.compute_keys(items), before)
        for row in range(2):
            for item in range(ITEMS):
                wanted = slow_score(attention, query[row], items[row], before[row], item)
                assert found[row, item] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("scoring", "by_items", "by_place"),
    [("content", True, False), ("location", False, True), ("hybrid", True, True)],
)
def test_only_location_scoring_uses_previous_weights(
    scoring: str, by_items: bool, by_place: bool
) -> None:
    torch.manual_seed(1)
    attention = LocationAttention(WIDTH, CHANNELS, HIDDEN, scoring)
    query, items = torch.randn(1, WIDTH), torch.randn(1, ITEMS, CHANNELS)
    one, other = torch.eye(ITEMS)[:1], torch.eye(ITEMS)[4:5]
    scores = attention.compute_scores(query, attention.compute_keys(items), one)
    moved = attention.compute_scores(query, attention.compute_keys(items), other)
    changed = attention.compute_scores(query, attention.compute_keys(items + 1), one)
    assert torch.equal(scores, moved) != by_place
    assert torch.equal(scores, changed) != by_items


def test_weights_are_softmax_over_readable_items() -> None:
    scores = torch.tensor([[1.0, 2.0, 3.0, 100.0]])
    readable = torch.tensor([[True, True, True, False]])
    total = math.exp(1) + math.exp(2) + math.exp(3)
    wanted = [math.exp(1) / total, math.exp(2) / total, math.exp(3) / total, 0.0]
    found = compute_weights(scores, readable, torch.zeros(1, 4), SHARE)
    assert found[0].tolist() == pytest.approx(wanted, abs=1e-6)


def test_location_scoring_without_readable_items_gives_zeros() -> None:
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    for share in (SHARE, replace(SHARE, smooth=True), replace(SHARE, window=1)):
        found = compute_weights(torch.randn(1, 3), nothing, torch.zeros(1, 3), share)
        assert torch.equal(found, torch.zeros(1, 3))


def test_sharpening_raises_and_smoothing_lowers_the_peak() -> None:
    scores = torch.tensor([[3.0, 1.0, 2.5, -1.0]])
    readable, before = torch.ones(1, 4, dtype=torch.bool), torch.zeros(1, 4)
    plain = compute_weights(scores, readable, before, SHARE)
    sharp = compute_weights(scores, readable, before, replace(SHARE, factor=2.0))
    smooth = compute_weights(scores, readable, before, replace(SHARE, smooth=True))
    assert sharp.max() > plain.max() > smooth.max()
    raised = [1 / (1 + math.exp(-score)) for score in scores[0].tolist()]
    assert smooth[0].tolist() == pytest.approx([one / sum(raised) for one in raised], abs=1e-6)


def test_window_surrounds_median_of_previous_weights() -> None:
    before = torch.tensor([[0.0, 0.1, 0.2, 0.6, 0.1, 0.0, 0.0]])
    readable = torch.ones(1, 7, dtype=torch.bool)
    found = compute_weights(torch.zeros(1, 7), readable, before, replace(SHARE, window=2))
    assert (found[0] > 0).tolist() == [False, True, True, True, True, True, False]
    assert found.sum() == pytest.approx(1.0)


def test_window_of_padding_alone_is_ignored() -> None:
    before = torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0]])
    readable = torch.tensor([[True, True, False, False, False]])
    found = compute_weights(torch.zeros(1, 5), readable, before, replace(SHARE, window=1))
    assert found[0].tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]


def test_first_weights_are_on_first_readable_item() -> None:
    readable = torch.tensor([[True, True, False], [False, True, True], [False, False, False]])
    assert make_first_weights(readable).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
