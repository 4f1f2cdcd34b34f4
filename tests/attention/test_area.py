"""Area attention: implementations compared with slow loops, and properties for any numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.keys import AreaFeatures
from areaviz.attention.pooled import AreaResult
from tests import reference
from tests.attention.call import attend, attended
from tests.sampled import sampled

IMPLS = ("direct", "table", "pooled", "streamed")
MODES = [(key, value) for key in ("mean", "max") for value in ("sum", "mean", "max")]


@dataclass(frozen=True)
class Case:
    """Random inputs of a random shape, in float64."""

    query: Tensor
    key: Tensor
    value: Tensor
    shape: tuple[int, int]
    area: tuple[int, int]
    padding: Tensor | None
    causal: bool

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.query, self.key, self.value

    def run(self, impl: str, **options: Any) -> Any:
        result = attend(
            *self.inputs,
            area_size=self.area,
            memory_shape=self.shape,
            key_padding_mask=self.padding,
            is_causal=self.causal,
            impl=impl,
            **options,
        )
        return result if "need_weights" in options else result.output

    def expected(self, key_mode: str = "mean", value_mode: str = "sum") -> AreaResult:
        """Return the result of the slow loops, head by head."""
        memory = reference.areas(*self.shape, *self.area)
        queries, items = self.query.shape[-2], self.key.shape[-2]
        allowed = torch.ones(queries, items, dtype=torch.bool)
        if self.causal:
            allowed = torch.arange(items) <= torch.arange(queries)[:, None] + items - queries
        parts = []
        for b in range(self.query.shape[0]):
            seen = allowed if self.padding is None else allowed & ~self.padding[b]
            for h in range(self.query.shape[1]):
                query, key, value = (x[b, h] for x in self.inputs)
                scale = self.query.shape[-1] ** -0.5
                parts.append(
                    reference.attention(
                        query, key, value, memory, seen, scale, key_mode, value_mode
                    )
                )
        lead = self.query.shape[:2]
        return AreaResult(
            *(torch.stack(part).unflatten(0, lead) for part in zip(*parts, strict=True))
        )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    height, width = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    area = draw(st.integers(1, height)), draw(st.integers(1, width))
    batch, heads, queries = (
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 5)),
    )
    torch.manual_seed(draw(st.integers(0, 999)))
    shapes = [(queries, 3), (height * width, 3), (height * width, 2)]
    query, key, value = (
        torch.randn(batch, heads, *shape, dtype=torch.float64, requires_grad=True)
        for shape in shapes
    )
    padding = torch.rand(batch, height * width) < 0.3 if draw(st.booleans()) else None
    return Case(query, key, value, (height, width), area, padding, draw(st.booleans()))


@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_all_implementations_equal_slow_loops_with_gradients(case: Case) -> None:
    expected = case.expected()
    pull = torch.randn_like(expected.output)
    slopes = _slopes(expected.output, pull, case)
    for impl in IMPLS:
        output = case.run(impl)
        torch.testing.assert_close(output, expected.output, atol=1e-9, rtol=1e-9)
        for own, other in zip(_slopes(output, pull, case), slopes, strict=True):
            torch.testing.assert_close(own, other, atol=1e-9, rtol=1e-9)


def _slopes(output: Tensor, pull: Tensor, case: Case) -> tuple[Tensor, ...]:
    """Return the gradients of the inputs.

    They are zeros if everything is masked, because the loops then never use the inputs.
    """
    untouched = sum(0 * x.sum() for x in case.inputs)
    return torch.autograd.grad((output * pull).sum() + untouched, case.inputs)


@given(case=cases())
@settings(max_examples=30, deadline=None)
def test_weights_and_coverage_equal_slow_loops(case: Case) -> None:
    expected = case.expected()
    for impl in IMPLS:
        found = case.run(impl, need_weights=True)
        for own, other in zip(found, expected, strict=True):
            torch.testing.assert_close(own, other, atol=1e-9, rtol=1e-9)


@given(case=cases(), modes=st.sampled_from(MODES))
@settings(max_examples=40, deadline=None)
def test_every_key_and_value_mode_equals_slow_loops(case: Case, modes: tuple[str, str]) -> None:
    output = case.run("auto", key_mode=modes[0], value_mode=modes[1])
    torch.testing.assert_close(output, case.expected(*modes).output, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("causal", sampled([False, True], True))
@pytest.mark.parametrize("shape", sampled([(1, 6), (2, 3)], (2, 3)))
def test_gradients_pass_gradcheck(impl: str, causal: bool, shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    inputs = [
        torch.randn(1, 2, 6, width, dtype=torch.float64, requires_grad=True) for width in (3, 3, 2)
    ]
    padding = torch.tensor([[False, False, False, False, True, True]])

    def run(*parts: Tensor) -> Tensor:
        out = attended(
            *parts,
            area_size=(shape[0], 3),
            memory_shape=shape,
            key_padding_mask=padding,
            is_causal=causal,
            impl=impl,
        )
        return out

    assert torch.autograd.gradcheck(run, inputs)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("causal", [False, True])
def test_areas_of_one_item_are_regular_attention(impl: str, causal: bool) -> None:
    torch.manual_seed(1)
    query, key, value = (torch.randn(2, 3, 9, 4) for _ in range(3))
    found = attended(query, key, value, area_size=1, is_causal=causal, impl=impl)
    torch.testing.assert_close(
        found, F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    )


@pytest.mark.parametrize("impl", IMPLS)
def test_worked_example_is_reproduced(impl: str) -> None:
    query = torch.tensor([[[1.0, 0], [0, 2]]])
    key = torch.tensor([[[1.0, 0], [0, 1], [1, 1], [2, -1]]])
    value = torch.tensor([[[1.0, 2], [3, 4], [5, 6], [7, 8]]])
    found = attended(query, key, value, area_size=3, scale=1.0, impl=impl)
    expected = torch.tensor([[[7.723484, 9.374822], [6.300080, 7.989599]]])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-6)


@pytest.mark.parametrize("impl", IMPLS)
def test_fully_masked_query_gets_zeros_and_zero_gradients(impl: str) -> None:
    inputs = [torch.randn(2, 1, 4, 3, requires_grad=True) for _ in range(3)]
    padding = torch.tensor([[True] * 4, [False] * 4])
    output = attended(*inputs, area_size=2, key_padding_mask=padding, impl=impl)
    assert output[0].eq(0).all() and output[1].ne(0).any()
    for slope in torch.autograd.grad(output.sum(), inputs):
        assert slope.isfinite().all() and slope[0].eq(0).all()


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("poison", [torch.nan, torch.inf])
def test_values_of_masked_items_never_leak(impl: str, poison: float) -> None:
    torch.manual_seed(2)
    clean = [torch.randn(1, 2, 7, 3) for _ in range(3)]
    padding = torch.arange(7)[None] >= 5
    expected = attended(*clean, area_size=3, key_padding_mask=padding, impl=impl)
    inputs = [x.clone() for x in clean]
    inputs[1][:, :, 5:], inputs[2][:, :, 6:] = poison, poison
    inputs = [x.requires_grad_() for x in inputs]
    output = attended(*inputs, area_size=3, key_padding_mask=padding, impl=impl)
    torch.testing.assert_close(output, expected)
    assert all(slope.isfinite().all() for slope in torch.autograd.grad(output.sum(), inputs))


@pytest.mark.parametrize("impl", ["pooled", "streamed"])
def test_half_precision_accumulates_in_single_precision(impl: str) -> None:
    torch.manual_seed(3)
    full = [torch.randn(1, 2, 64, 8) for _ in range(3)]
    half = [x.bfloat16() for x in full]
    output = attended(*half, area_size=5, impl=impl)
    expected = attended(*(x.float() for x in half), area_size=5)
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(output.float(), expected, atol=0.05, rtol=0.02)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_keeps_precision_of_sums_and_weights(impl: str, dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    inputs = [torch.randn(1, 2, 16, 8).to(dtype) for _ in range(3)]
    expected = attend(*inputs, area_size=3, need_weights=True, impl=impl)
    with torch.autocast("cpu", torch.bfloat16):
        found = attend(*inputs, area_size=3, need_weights=True, impl=impl)
    for own, other in zip(found, expected, strict=True):
        torch.testing.assert_close(own, other, rtol=0, atol=0)
    assert found[1].dtype == found[2].dtype == torch.float32


def test_learned_area_keys_work_under_autocast() -> None:
    """Under autocast, keys have half precision and the parameters of Eq. 9 single precision."""
    torch.manual_seed(3)
    features = AreaFeatures(8, (1, 3))
    inputs = [torch.randn(1, 2, 16, 8) for _ in range(3)]
    options: dict[str, Any] = {"area_size": 3, "key_mode": "features", "features": features}
    expected = attended(*inputs, **options)
    with torch.autocast("cpu", torch.bfloat16):
        found = attended(*(x.bfloat16() for x in inputs), **options)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected, atol=0.1, rtol=0.05)


def test_coverage_sums_to_the_expected_area_size() -> None:
    query, key, value = (torch.randn(1, 2, 12, 4, dtype=torch.float64) for _ in range(3))
    found = attend(query, key, value, area_size=(2, 3), memory_shape=(3, 4), need_weights=True)
    assert found.weights is not None and found.coverage is not None
    sizes = torch.tensor([len(items) for items in reference.areas(3, 4, 2, 3)], dtype=torch.float64)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(1, 2, 12, dtype=torch.float64))
    torch.testing.assert_close(found.coverage.sum(-1), found.weights @ sizes)


@pytest.mark.parametrize("impl", ["direct", "table", "pooled", "streamed"])
def test_padding_may_hide_more_than_causality(impl: str) -> None:
    query, key, value = (torch.randn(1, 1, n, 3) for n in (2, 4, 4))
    padding = torch.tensor([[False, True, True, True]])
    found = attended(
        query, key, value, area_size=2, is_causal=True, key_padding_mask=padding, impl=impl
    )
    torch.testing.assert_close(found, value[:, :, :1].expand_as(found))


@pytest.mark.parametrize("impl", IMPLS)
def test_padding_may_leave_less_than_largest_area(impl: str) -> None:
    query, key, value = (torch.randn(1, 1, n, 3) for n in (4, 9, 9))
    padding = torch.arange(9)[None] >= 2
    found = attended(query, key, value, area_size=6, key_padding_mask=padding, impl=impl)
    inside = (x[:, :, :2] for x in (key, value))
    torch.testing.assert_close(found, attended(query, *inside, area_size=2, impl=impl))


@pytest.mark.parametrize("impl", ["auto", *IMPLS])
@pytest.mark.parametrize("lead", [(0, 2, 3), (2, 2, 0)], ids=["no batch", "no queries"])
def test_empty_queries_give_empty_outputs(impl: str, lead: tuple[int, int, int]) -> None:
    query, key, value = (
        torch.randn(*lead, 4),
        torch.randn(*lead[:2], 6, 4),
        torch.randn(*lead[:2], 6, 5),
    )
    found = attend(query, key, value, area_size=2, need_weights=True, is_causal=True, impl=impl)
    assert [part.shape for part in found if part is not None] == [
        (*lead, 5),
        (*lead, 11),
        (*lead, 6),
    ]
    assert attended(query, key, value, area_size=2, impl=impl).shape == (*lead, 5)


@pytest.mark.parametrize("impl", IMPLS)
def test_area_multipliers_broadcast_over_queries(impl: str) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, n, 4) for n in (3, 5, 5))
    factors = torch.rand(1, 9)
    alone = attended(query, key, value, area_size=2, multipliers=factors, impl=impl)
    torch.testing.assert_close(
        alone,
        attended(query, key, value, area_size=2, multipliers=factors.expand(2, 3, 9), impl=impl),
    )


def test_areas_of_one_item_use_torch_fused_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    kernel = F.scaled_dot_product_attention

    def counted(*inputs: Any, **options: Any) -> Tensor:
        taken.append(1)
        return kernel(*inputs, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", counted)
    attended(*(torch.randn(1, 5, 4) for _ in range(3)), area_size=1, is_causal=True)
    assert taken == [1]


def test_boolean_padding_and_float_masks_agree() -> None:
    query, key, value = (torch.randn(2, 1, 5, 3) for _ in range(3))
    keep = torch.tensor([True, True, True, False, True])
    kept = attended(query, key, value, area_size=2, attn_mask=keep)
    padded = attended(query, key, value, area_size=2, key_padding_mask=(~keep).expand(2, 5))
    added = torch.zeros(5).masked_fill(~keep, -torch.inf)
    torch.testing.assert_close(kept, padded)
    torch.testing.assert_close(kept, attended(query, key, value, area_size=2, attn_mask=added))


@pytest.mark.parametrize("impl", IMPLS)
def test_float_mask_is_averaged_over_the_area(impl: str) -> None:
    torch.manual_seed(4)
    query, key, value = (torch.randn(1, 1, 4, 2, dtype=torch.float64) for _ in range(3))
    bias = torch.randn(4, 4, dtype=torch.float64)
    wider_query = torch.cat([query, torch.eye(4, dtype=torch.float64).expand(1, 1, 4, 4)], -1)
    wider_key = torch.cat([key, bias.T.expand(1, 1, 4, 4)], -1)
    expected = attended(wider_query, wider_key, value, area_size=3, scale=1.0)
    torch.testing.assert_close(
        attended(query, key, value, area_size=3, scale=1.0, attn_mask=bias, impl=impl),
        expected,
    )


@pytest.mark.parametrize("impl", IMPLS)
def test_top_k_keeps_the_heaviest_exactly(impl: str) -> None:
    query, key, value = (torch.randn(1, 1, 6, 3) for _ in range(3))
    all_areas = attend(query, key, value, area_size=2, need_weights=True, impl=impl)
    three = attend(query, key, value, area_size=2, need_weights=True, top_k=3, impl=impl)
    assert all_areas.weights is not None and three.weights is not None
    assert three.weights.gt(0).sum(-1).eq(3).all()
    best = all_areas.weights.topk(3, -1)
    torch.testing.assert_close(
        three.weights.gather(-1, best.indices), best.values / best.values.sum(-1, keepdim=True)
    )


def test_temperature_divides_the_logits() -> None:
    query, key, value = (torch.randn(1, 1, 6, 3) for _ in range(3))
    cooled = attended(query, key, value, area_size=2, temperature=0.5)
    torch.testing.assert_close(cooled, attended(2 * query, key, value, area_size=2))


def test_temperature_divides_the_biases() -> None:
    query, key, value = (torch.randn(1, 1, 6, 3) for _ in range(3))
    bias, sizes = torch.randn(6, 6), torch.randn(2)
    cooled = attended(
        query, key, value, area_size=2, attn_mask=bias, size_bias=sizes, temperature=0.5
    )
    doubled = attended(2 * query, key, value, area_size=2, attn_mask=2 * bias, size_bias=2 * sizes)
    torch.testing.assert_close(cooled, doubled)


def test_dropout_drops_weights_and_keeps_their_mean() -> None:
    torch.manual_seed(5)
    query, key, value = torch.randn(1, 1, 1, 3), torch.randn(1, 1, 6, 3), torch.ones(1, 1, 6, 1)
    whole = attend(query, key, value, area_size=3, value_mode="mean", need_weights=True)
    runs = [
        attended(query, key, value, area_size=3, value_mode="mean", dropout_p=0.4)
        for _ in range(800)
    ]
    assert len({float(run.sum()) for run in runs}) > 10
    assert torch.stack(runs).mean() == pytest.approx(1.0, abs=0.06)
    dropped = attend(
        query, key, value, area_size=3, value_mode="mean", need_weights=True, dropout_p=0.4
    )
    torch.testing.assert_close(dropped[1], whole[1])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"area_size": 7}, "memory only has"),
        ({"area_size": 0}, "at least 1"),
        ({"area_size": 2, "memory_shape": (2, 2)}, "does not hold the 6 items"),
        ({"area_size": 2, "impl": "fast"}, "impl must be one of"),
        ({"area_size": 2, "impl": "streamed", "key_mode": "max"}, "cannot do key_mode='max'"),
        ({"area_size": 2, "key_mode": "features"}, "go together"),
        ({"area_size": 2, "key_mode": "median"}, "key_mode must be one of"),
        ({"area_size": 2, "temperature": 0.0}, "temperature must be above 0"),
        ({"area_size": 2, "top_k": 0}, "top_k must be at least 1"),
        ({"area_size": 2, "dropout_p": 1.0}, "dropout_p must be in"),
        ({"area_size": 2, "key_padding_mask": torch.zeros(1, 6)}, "key_padding_mask must be bool"),
        ({"area_size": 2, "attn_mask": torch.zeros(5)}, "must broadcast"),
    ],
)
def test_mismatched_argument_is_named(options: dict[str, Any], told: str) -> None:
    x = torch.randn(1, 1, 6, 2)
    with pytest.raises(ValueError, match=told):
        attended(x, x, x, **options)
