"""Attention under interventions.

It is compared with weights that are multiplied and divided one by one, and with heads removed by
hand.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import UNCHANGED, LayerInterventions, NetworkInterventions
from areaviz.attention.multihead import MultiHeadAttention
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.changes import Change, Gate, Weigh
from areaviz.trace.errors import InputError
from tests.attention.call import attend, attended

IMPLS = ("streamed", "pooled", "table", "direct")
SITES = {"encoder self": ("source", "source"), "encoder-decoder": ("target", "source")}
GRID = AreaGrid(1, 6, 1, 3)


def interventions(*changes: Weigh | Gate, heads: int = 2) -> LayerInterventions:
    found = NetworkInterventions(changes, heads).get_layer_changes("s", 0)
    assert found is not None
    return found


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 2, 4, 8), torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 8)


def multiplied(weights: Tensor, factors: Tensor) -> Tensor:
    """Multiply every weight by its factor and renormalise its row, one by one.

    A row with nothing left is zeros.
    """
    result = torch.zeros_like(weights)
    for b, h, q in torch.cartesian_prod(
        *(torch.arange(size) for size in weights.shape[:3])
    ).tolist():
        row = [
            float(weights[b, h, q, r] * factors[h, min(q, len(factors[h]) - 1), r])
            for r in range(GRID.count)
        ]
        for r, value in enumerate(row):
            result[b, h, q, r] = value / sum(row) if sum(row) else 0.0
    return result


CHANGES = [
    (Weigh("s", (2,)),),
    (Weigh("s", areas=(Area(0, 1, 1, 3),), factor=4.0),),
    (Weigh("s", (0, 5), factor=0.25, head=1), Weigh("s", (3,), head=0, query=2)),
    (Weigh("s", areas=(Area(0, 2, 1, 1), Area(0, 2, 1, 2)), rest=True),),
    (Weigh("s", (0, 1, 2, 3, 4, 5), head=1, query=0),),
]


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("changes", CHANGES)
def test_weights_are_multiplied_and_sum_to_one_again(impl: str, changes: tuple[Weigh, ...]) -> None:
    query, key, value = inputs()
    factors = interventions(*changes).compute_multipliers(GRID, 4, torch.device("cpu"))
    assert factors is not None
    plain = attend(query, key, value, area_size=3, need_weights=True, impl="direct")
    assert plain.weights is not None
    expected = multiplied(plain.weights, factors)
    found = attend(
        query, key, value, area_size=3, need_weights=True, impl=impl, multipliers=factors
    )
    assert found.weights is not None and found.coverage is not None
    torch.testing.assert_close(found.weights, expected, atol=1e-6, rtol=1e-4)
    coverage = torch.stack([expected[..., holds(item)].sum(-1) for item in range(6)], -1)
    torch.testing.assert_close(found.coverage, coverage, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.output, coverage @ value, atol=1e-5, rtol=1e-4)
    output = attended(query, key, value, area_size=3, impl=impl, multipliers=factors)
    torch.testing.assert_close(output, found.output, atol=1e-6, rtol=1e-5)


def holds(item: int) -> list[bool]:
    areas = map(GRID.area, range(GRID.count))
    return [area.left <= item < area.left + area.width for area in areas]


def test_masked_areas_stay_masked_and_bans_read_nothing() -> None:
    query, key, value = inputs()
    padding = torch.tensor([[False] * 4 + [True] * 2] * 2)
    change = interventions(Weigh("s", (5,), factor=100.0), Weigh("s", (0, 1, 2, 3), head=1))
    factors = change.compute_multipliers(GRID, 4, torch.device("cpu"))
    found = attend(
        query,
        key,
        value,
        area_size=3,
        key_padding_mask=padding,
        need_weights=True,
        multipliers=factors,
    )
    assert found.weights is not None
    assert not found.weights[..., holds(5)].any()
    assert not found.weights[:, 1].any() and not found.output[:, 1].any()
    torch.testing.assert_close(found.weights[:, 0].sum(-1), torch.ones(2, 4))


def module(**options: object) -> MultiHeadAttention:
    torch.manual_seed(1)
    return MultiHeadAttention(16, 2, AreaOptions(3, **options)).eval().requires_grad_(False)  # type: ignore[arg-type]


def test_switched_off_head_equals_zeroed_output_projection() -> None:
    made, x = module(), torch.randn(2, 6, 16)
    found, weights = made(x, x, need_weights=True, interventions=interventions(Gate("s", head=1)))
    without = module()
    without.out.weight[:, 8:] = 0
    expected, same = without(x, x, need_weights=True)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(weights, same)


@pytest.mark.parametrize(
    "change", [Weigh("s", (1, 2), factor=1.0), Gate("s", factor=1.0), Weigh("t", (1,))]
)
def test_neutral_factor_and_unrelated_change_do_nothing(change: Weigh | Gate) -> None:
    made, x = module(), torch.randn(2, 6, 16)
    found, weights = made(
        x,
        x,
        need_weights=True,
        interventions=NetworkInterventions((change,), 2).get_layer_changes("s", 0),
    )
    plain, same = made(x, x, need_weights=True)
    torch.testing.assert_close(found, plain, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(weights, same, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("modes", [("mean", "sum"), ("max", "mean"), ("features", "sum")])
@pytest.mark.parametrize(
    "changes",
    [
        (Weigh("s", (1,)),),
        (Weigh("s", (0,), factor=3.0), Gate("s", head=0, factor=0.5)),
        (Gate("s", head=1),),
        (Weigh("s", tuple(range(6)), head=0),),
    ],
)
def test_remembered_memory_equals_whole_pass(
    modes: tuple[str, str], changes: tuple[Weigh | Gate, ...]
) -> None:
    made, x = module(key_mode=modes[0], value_mode=modes[1]), torch.randn(2, 6, 16)
    padding, change = torch.tensor([[False] * 6, [False] * 4 + [True] * 2]), interventions(*changes)
    whole, _ = made(x, x, padding, interventions=change)
    kept = made.build_memory(x, padding, change)
    torch.testing.assert_close(made.attend_to_memory(x, kept), whole, atol=1e-5, rtol=1e-4)
    causal, _ = made(x, x, is_causal=True, interventions=change)
    history = None
    for place in range(6):
        item = x[:, place : place + 1]
        history = made.append_item(history, item, change)
        torch.testing.assert_close(
            made.attend_to_memory(item, history), causal[:, place : place + 1], atol=1e-5, rtol=1e-4
        )


def test_change_applies_only_at_its_site_and_layer() -> None:
    changes: list[Change] = [Gate("encoder self", layer=1), Weigh("encoder-decoder", (0,))]
    changed = NetworkInterventions.from_changes(changes, SITES, 2)
    assert (
        changed.get_layer_changes("encoder self", 0) is None
        and changed.get_layer_changes("encoder self", 1) is not None
    )
    assert [
        changed.get_layer_changes("encoder-decoder", layer) is not None for layer in (0, 1)
    ] == [True, True]
    assert UNCHANGED.get_layer_changes("encoder-decoder", 0) is None


def test_gates_multiply_and_too_large_products_are_refused() -> None:
    context = torch.ones(1, 2, 3, 4)
    changed = interventions(Gate("s", factor=2), Gate("s", head=1, factor=5))
    assert changed.apply_gates(context)[0, :, 0, 0].tolist() == [2, 10]
    with pytest.raises(InputError, match="multiply one weight or head by"):
        interventions(*[Gate("s", factor=100)] * 1024).apply_gates(context)
