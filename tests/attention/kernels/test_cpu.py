"""The C kernel compared with the implementations in torch, which have their own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from areaviz.attention.kernels import cpu
from areaviz.attention.keys import BoundaryKeys
from tests.attention.call import attend, attended

CAPABLE = torch.backends.cpu.get_cpu_capability()
VECTORS = ["plain C", *{"AVX2": ["AVX2"], "AVX512": ["AVX2", "AVX512"]}.get(CAPABLE, [])]
MASKS = ("none", "causal", "padded", "holes", "float")
GRIDS = [
    ((1, 1), (1, 1)),
    ((1, 7), (1, 3)),
    ((1, 37), (1, 5)),
    ((1, 40), (1, 11)),
    ((3, 4), (2, 2)),
    ((5, 5), (3, 4)),
    ((4, 3), (1, 2)),
    ((6, 1), (4, 1)),
]


@contextmanager
def vectors(capability: str) -> Iterator[None]:
    """Use the kernel as compiled for a processor with the given vector instructions."""
    with pytest.MonkeyPatch.context() as patch:
        kernel = cpu.load_library(capability)
        patch.setattr(cpu, "get_library", lambda: kernel)
        yield


@dataclass(frozen=True)
class Case:
    """Random inputs in float64, and the options of a call."""

    inputs: list[Tensor]
    bias: Tensor | None
    keys: BoundaryKeys | None
    options: dict[str, Any]

    def run(self, impl: str, dtype: torch.dtype) -> list[Tensor]:
        """Return the output, and the gradients of everything learned, computed in a data type."""
        inputs = [x.to(dtype).requires_grad_() for x in self.inputs]
        learned = list(inputs)
        options = dict(self.options)
        if self.bias is not None:
            options["size_bias"] = self.bias.to(dtype).requires_grad_()
            learned.append(options["size_bias"])
        if self.keys is not None:
            options["key_mode"], options["features"] = "boundary", self.keys.to(dtype)
            learned += self.keys.parameters()
        output = attended(*inputs, impl=impl, **options)
        torch.manual_seed(1)
        pull = torch.randn(output.shape, dtype=torch.float64).to(dtype)
        return [output.detach(), *torch.autograd.grad(output, learned, pull)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    shape, area = draw(st.sampled_from(GRIDS))
    items, queries = shape[0] * shape[1], draw(st.sampled_from([1, 5, 33]))
    torch.manual_seed(draw(st.integers(0, 99)))
    inputs = [torch.randn(2, 3, n, w, dtype=torch.float64) for n, w in _sizes(queries, items)]
    bias = keys = None
    if draw(st.booleans()):
        bias = torch.randn(3, area[0] * area[1], dtype=torch.float64)
    if draw(st.booleans()):
        keys = BoundaryKeys(8, area)
    options: dict[str, Any] = {"area_size": area, "memory_shape": shape}
    options["value_mode"] = draw(st.sampled_from(["sum", "mean"]))
    return Case(inputs, bias, keys, options | mask(draw(st.sampled_from(MASKS)), queries, items))


def _sizes(queries: int, items: int) -> list[tuple[int, int]]:
    return [(queries, 8), (items, 8), (items, 6)]


def mask(kind: str, queries: int, items: int) -> dict[str, Any]:
    """Return the options of a mask."""
    holes = torch.rand(2, 1, queries, items) < 0.3
    if kind == "causal":
        return {"is_causal": True}
    if kind == "padded":
        return {"key_padding_mask": torch.arange(items) >= torch.tensor([[items // 2], [items]])}
    if kind == "holes":
        return {"attn_mask": ~holes}
    if kind == "float":
        return {"attn_mask": torch.randn(2, 1, queries, items).masked_fill(holes, -torch.inf)}
    return {}


@given(case=cases(), capability=st.sampled_from(VECTORS))
@settings(max_examples=25, deadline=None)
def test_output_and_gradients_match_float64(case: Case, capability: str) -> None:
    with vectors(capability):
        found = case.run("fused", torch.float32)
    for own, exact in zip(found, case.run("pooled", torch.float64), strict=True):
        size = 1 + exact.abs().max().item()
        torch.testing.assert_close(own.double(), exact, atol=1e-5 * size, rtol=0)


@pytest.mark.parametrize("capability", VECTORS)
@pytest.mark.parametrize("loud", [1.0, 8.0])
@pytest.mark.parametrize("grid", [((1, 130), (1, 5)), ((9, 9), (3, 3))])
def test_kernel_errors_are_at_most_doubled(
    capability: str, loud: float, grid: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    """The root mean square error follows FlashAttention's own rule, plus one bit of float32."""
    torch.manual_seed(0)
    items = grid[0][0] * grid[0][1]
    inputs = [loud * torch.randn(1, 2, items, 16).double() for _ in range(3)]
    case = Case(inputs, None, None, {"area_size": grid[1], "memory_shape": grid[0]})
    exact, plain = case.run("direct", torch.float64), case.run("direct", torch.float32)
    with vectors(capability):
        found = case.run("fused", torch.float32)
    for own, other, true in zip(found, plain, exact, strict=True):
        assert _size(own - true) <= 2 * _size(other - true) + 2**-23 * _size(true)


def _size(x: Tensor) -> float:
    return x.double().square().mean().sqrt().item()


@given(case=cases(), changed=st.booleans())
@settings(max_examples=25, deadline=None)
def test_weights_and_coverage_match_float64(case: Case, changed: bool) -> None:
    options = dict(case.options)
    if case.keys is not None:
        options |= {"key_mode": "boundary", "features": case.keys.double()}
    found = []
    for impl, dtype in (("fused", torch.float32), ("pooled", torch.float64)):
        query, key, value = (x.to(dtype) for x in case.inputs)
        bias = None if case.bias is None else case.bias.to(dtype)
        if case.keys is not None:
            case.keys.to(dtype)
        with torch.no_grad():
            weights: dict[str, Any] = {"need_weights": True, "impl": impl, "size_bias": bias}
            result = attend(query, key, value, **options, **weights)
            assert result.weights is not None
            if changed:
                torch.manual_seed(2)
                factors = torch.rand(result.weights.shape[1:]) * 2
                factors[torch.rand(factors.shape) < 0.3] = 0
                weights["multipliers"] = factors.to(dtype)
                result = attend(query, key, value, **options, **weights)
        found.append(result)
    for own, exact in zip(*found, strict=True):
        assert own is not None and exact is not None
        torch.testing.assert_close(own.double(), exact, atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize("banned", [torch.zeros(1, 9), torch.tensor([[1.0] + [0.0] * 8])])
def test_banned_areas_have_no_weight(banned: Tensor) -> None:
    """This holds even if the remaining logits are far below the banned ones."""
    query, key, value = 50 * torch.ones(1, 1, 2), torch.ones(1, 5, 2), torch.randn(1, 5, 3)
    key[0, 0] = -1
    found = attend(
        query, key, value, area_size=2, multipliers=banned, need_weights=True, impl="fused"
    )
    assert found.weights is not None
    torch.testing.assert_close(found.weights[0], banned, atol=0, rtol=0)
    torch.testing.assert_close(found.output[0, 0], value[0, 0] * banned[0, 0])


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 4])
def test_repeats_are_equal_to_the_last_bit(threads: int, rows: int) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(rows, 1, 70, 16, dtype=torch.float64) for _ in range(3)]
    case = Case(inputs, torch.randn(3), None, {"area_size": 3, "is_causal": True})
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        first, *others = [case.run("fused", torch.float32) for _ in range(3)]
    finally:
        torch.set_num_threads(before)
    exact = case.run("streamed", torch.float64)
    for index, own in enumerate(first):
        torch.testing.assert_close(own.double(), exact[index], atol=2e-4, rtol=1e-4)
        assert all(torch.equal(own, other[index]) for other in others)


@pytest.mark.parametrize("keys", ["mean", "boundary"])
def test_no_bias_is_too_large_or_too_small(keys: str) -> None:
    query, key, value = torch.zeros(1, 1, 8), torch.randn(1, 4, 8), torch.randn(1, 4, 2)
    options = {"key_mode": keys, "features": BoundaryKeys(8, (1, 2))} if keys != "mean" else {}
    for bias in ([0.0, 1000.0], [-5000.0, -4000.0]):
        output = attended(
            query, key, value, area_size=2, size_bias=torch.tensor(bias), impl="fused", **options
        )
        torch.testing.assert_close(output[0, 0], (value[0, :-1] + value[0, 1:]).mean(0))


@pytest.mark.parametrize("poison", [torch.nan, torch.inf, -torch.inf])
def test_nan_reaches_every_query_that_sees_it(poison: float) -> None:
    query, key, value = (torch.randn(1, 6, 4) for _ in range(3))
    key[0, 3] = poison
    found = attended(query, key, value, area_size=3, is_causal=True, impl="fused")
    assert found[0, :3].isfinite().all() and found[0, 3:].isnan().all()
    value[0, 0, 1] = poison
    whole = attended(query, torch.randn(1, 6, 4), value, area_size=3, impl="fused")
    assert not whole[..., 1].isfinite().any() and whole[..., 0].isfinite().all()


def test_fully_masked_query_gets_zeros_and_zero_gradients() -> None:
    inputs = [torch.randn(2, 1, 4, 3, requires_grad=True) for _ in range(3)]
    padding = torch.tensor([[True] * 4, [False] * 4])
    output = attended(*inputs, area_size=2, key_padding_mask=padding, impl="fused")
    assert output[0].eq(0).all() and output[1].ne(0).any()
    for slope in torch.autograd.grad(output.sum(), inputs):
        assert slope.isfinite().all() and slope[0].eq(0).all()


def test_half_precision_accumulates_in_single_precision() -> None:
    half = [torch.randn(1, 2, 64, 8).bfloat16() for _ in range(3)]
    output = attended(*half, area_size=5, impl="fused")
    expected = attended(*(x.float() for x in half), area_size=5, impl="streamed")
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(output, expected.bfloat16(), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize(
    "options",
    [{"key_mode": "max"}, {"dropout_p": 0.1}, {"top_k": 1}, {"need_weights": True}],
)
def test_unsupported_options_are_refused(options: dict[str, Any]) -> None:
    x = torch.randn(1, 1, 4, 2, requires_grad=True)
    with pytest.raises(ValueError, match="Use impl='auto'"):
        attended(x, x, x, area_size=2, impl="fused", **options)
    assert attended(x, x, x, area_size=2, **options).shape == x.shape
    with pytest.raises(ValueError, match="float32"):
        attended(x.double(), x.double(), x.double(), area_size=2, impl="fused")


def test_auto_prefers_kernel_and_falls_back_to_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs = [torch.randn(1, 2, 20, 8) for _ in range(3)]
    run: Callable[[str], Tensor] = lambda impl: attended(*inputs, area_size=4, impl=impl)  # noqa: E731
    assert torch.equal(run("auto"), run("fused"))
    streamed = run("streamed")
    monkeypatch.setattr(cpu, "get_library", lambda: None)
    assert torch.equal(run("auto"), streamed)
    with pytest.raises(ValueError, match="with a C compiler"):
        run("fused")
