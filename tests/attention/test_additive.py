"""Additive attention compared with loops over examples, queries and items."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from areaviz.attention.additive import AdditiveAttention
from areaviz.attention.interventions import LayerInterventions
from areaviz.trace.changes import Gate, Weigh

PADDING = torch.tensor([[False] * 5, [False, False, False, True, True]])


def attention(seed: int = 0) -> AdditiveAttention:
    torch.manual_seed(seed)
    return AdditiveAttention(4, 6, 3).double().requires_grad_(False)


def inputs(seed: int = 1) -> tuple[Tensor, Tensor]:
    """Return two queries and five items for each of two examples."""
    torch.manual_seed(seed)
    return torch.randn(2, 2, 4).double(), torch.randn(2, 5, 6).double()


def slowly(
    made: AdditiveAttention, query_W: Tensor, items_MC: Tensor, factors: list[float]
) -> tuple[list[float], list[float]]:
    """Compute the context of one query and its weights, one number after the other."""
    shares = []
    for item_C, factor in zip(items_MC, factors, strict=True):
        score = 0.0
        for unit in range(made.score.in_features):
            total = float(made.query.bias[unit])
            total += sum(
                float(w * q) for w, q in zip(made.query.weight[unit], query_W, strict=True)
            )
            total += sum(float(u * m) for u, m in zip(made.key.weight[unit], item_C, strict=True))
            score += float(made.score.weight[0, unit]) * math.tanh(total)
        shares.append(factor * math.exp(score))
    whole = sum(shares)
    weights = [share / whole if whole else 0.0 for share in shares]
    context = []
    for channel in range(items_MC.shape[1]):
        parts = (
            weight * float(item[channel]) for weight, item in zip(weights, items_MC, strict=True)
        )
        context.append(sum(parts))
    return context, weights


def test_context_is_weighted_sum_of_readable_items() -> None:
    made, (query, items) = attention(), inputs()
    contexts, weights = made.attend_to_memory(query, made.build_memory(items, PADDING))
    for example, query_KW in enumerate(query):
        factors = [float(not padded) for padded in PADDING[example]]
        for place, query_W in enumerate(query_KW):
            context, slow = slowly(made, query_W, items[example], factors)
            assert weights[example, place].tolist() == pytest.approx(slow)
            assert contexts[example, place].tolist() == pytest.approx(context)


def test_changes_multiply_weights_and_gate_contexts() -> None:
    made, (query, items) = attention(), inputs()
    changed = LayerInterventions(
        1, (Weigh("s", (1,), factor=3.0), Weigh("s", (0,))), (Gate("s", factor=0.5),)
    )
    contexts, weights = made.attend_to_memory(
        query, made.build_memory(items, interventions=changed)
    )
    context, slow = slowly(made, query[1, 0], items[1], [0.0, 3.0, 1.0, 1.0, 1.0])
    assert weights[1, 0].tolist() == pytest.approx(slow)
    assert contexts[1, 0].tolist() == pytest.approx([0.5 * number for number in context])


def test_query_with_every_item_banned_reads_nothing() -> None:
    made, (query, items) = attention(), inputs()
    changed = LayerInterventions(1, (Weigh("s", tuple(range(5))),))
    for part in made.attend_to_memory(query, made.build_memory(items, PADDING, changed)):
        assert not part.any()


def test_change_of_one_query_affects_only_it() -> None:
    made, (query, items) = attention(), inputs()
    changed = LayerInterventions(1, (Weigh("s", (2,), query=1),))
    memory = made.build_memory(items, interventions=changed, times=3)
    banned = [float(made.attend_to_memory(query, memory, time)[1][0, 0, 2]) for time in range(3)]
    assert banned[0] == banned[2] > 0 == banned[1]


@given(st.permutations(range(5)))
def test_order_of_items_does_not_matter(order: list[int]) -> None:
    made, (query, items) = attention(), inputs()
    plain, weights = made.attend_to_memory(query, made.build_memory(items))
    other, moved = made.attend_to_memory(query, made.build_memory(items[:, order]))
    torch.testing.assert_close(other, plain)
    torch.testing.assert_close(moved, weights[..., order])


def test_gradients_match_finite_differences() -> None:
    made, (query, items) = attention(), inputs()

    def read(query: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        return made.attend_to_memory(query, made.build_memory(items, PADDING))

    assert torch.autograd.gradcheck(read, (query.requires_grad_(), items.requires_grad_()))
