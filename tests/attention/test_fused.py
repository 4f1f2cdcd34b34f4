"""The C kernel against the literal equations."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.attention import fused
from areaviz.attention.area import area_attention

SIZES = st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 9), st.integers(1, 20), st.integers(1, 6))


@given(sizes=SIZES, causal=st.booleans(), padded=st.booleans(), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_output_and_gradients_equal_the_direct_form(
    sizes: tuple[int, int, int, int, int], causal: bool, padded: bool, seed: int
) -> None:
    batch, heads, queries, items, area_size = sizes
    torch.manual_seed(seed)
    shapes = [(batch, heads, n, width) for n, width in ((queries, 4), (items, 4), (items, 3))]
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    padding = torch.arange(items) >= torch.randint(0, items + 1, (batch, 1)) if padded else None
    options = {"area_size": min(area_size, items), "key_padding_mask": padding, "is_causal": causal}
    outputs = [area_attention(*inputs, impl=impl, **options) for impl in ("fused", "direct")]  # type: ignore[call-overload]
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=1e-4)
    weight = torch.randn_like(outputs[0])
    gradients = [torch.autograd.grad(output, inputs, weight) for output in outputs]
    for own, literal in zip(*gradients, strict=True):
        torch.testing.assert_close(own, literal, atol=2e-5, rtol=1e-3)


@given(
    grid=st.tuples(st.integers(2, 6), st.integers(1, 7)),
    area=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_rectangles_equal_the_direct_form(grid: tuple[int, int], area: tuple[int, int], seed: int) -> None:
    torch.manual_seed(seed)
    size = min(area[0], grid[0]), min(area[1], grid[1])
    inputs = [torch.randn(2, n, 3, requires_grad=True) for n in (5, grid[0] * grid[1], grid[0] * grid[1])]
    outputs = [area_attention(*inputs, area_size=size, memory_shape=grid, impl=impl) for impl in ("fused", "direct")]
    torch.testing.assert_close(*outputs, atol=1e-5, rtol=1e-4)
    weight = torch.randn_like(outputs[0])
    gradients = [torch.autograd.grad(output, inputs, weight) for output in outputs]
    for own, literal in zip(*gradients, strict=True):
        torch.testing.assert_close(own, literal, atol=2e-5, rtol=1e-3)


@pytest.mark.parametrize("shape", [(1, 4), (2, 2)])
def test_a_mask_in_the_middle_or_of_a_grid_is_refused(shape: tuple[int, int]) -> None:
    x = torch.randn(1, 1, 4, 2)
    mask = torch.tensor([True, shape[0] == 2, True, False])
    with pytest.raises(ValueError, match="at the end of a memory of one row"):
        area_attention(x, x, x, area_size=(1, 2), memory_shape=shape, attn_mask=mask, impl="fused")


@pytest.mark.parametrize("options", [{"key_mode": "max"}, {"need_weights": True}, {"dropout_p": 0.1}, {"top_k": 1}])
def test_what_it_cannot_do_is_refused(options: dict[str, object]) -> None:
    x = torch.randn(1, 1, 4, 2)
    with pytest.raises(ValueError, match="fused"):
        area_attention(x, x, x, area_size=2, impl="fused", **options)  # type: ignore[call-overload]


def test_loading_it_leaves_the_arithmetic_of_python_alone() -> None:
    program = (
        "from areaviz.attention import fused; fused._library(); least = float.fromhex('0x1p-1022'); print(least / 2)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert float(printed) > 0


@pytest.mark.parametrize(("compiler", "told"), [(None, "needs a C compiler"), ("/bin/false", "could not be compiled")])
def test_without_a_working_compiler_it_says_so(
    monkeypatch: pytest.MonkeyPatch, compiler: str | None, told: str
) -> None:
    x = torch.randn(1, 1, 4, 2)
    fused._library.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(fused.shutil, "which", lambda name: compiler)
        assert not fused.available()
        with pytest.raises(RuntimeError, match=told):
            area_attention(x, x, x, area_size=2, impl="fused")
    fused._library.cache_clear()
