"""The C kernel against the literal equations."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.attention import fused
from areaviz.attention.boundary import BoundaryKeys
from tests.attention.direct import attended

SIZES = st.tuples(
    st.integers(1, 3), st.integers(1, 2), st.integers(1, 9), st.integers(1, 20), st.integers(1, 6)
)


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
    options: dict[str, Any] = {
        "area_size": min(area_size, items),
        "key_padding_mask": padding,
        "is_causal": causal,
    }
    outputs = [attended(*inputs, impl=impl, **options) for impl in ("fused", "direct")]
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
def test_rectangles_equal_the_direct_form(
    grid: tuple[int, int], area: tuple[int, int], seed: int
) -> None:
    torch.manual_seed(seed)
    size = min(area[0], grid[0]), min(area[1], grid[1])
    inputs = [
        torch.randn(2, n, 3, requires_grad=True) for n in (5, grid[0] * grid[1], grid[0] * grid[1])
    ]
    outputs = [
        attended(*inputs, area_size=size, memory_shape=grid, impl=impl)
        for impl in ("fused", "direct")
    ]
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
        attended(x, x, x, area_size=(1, 2), memory_shape=shape, attn_mask=mask, impl="fused")


@pytest.mark.parametrize(
    "options", [{"key_mode": "max"}, {"need_weights": True}, {"dropout_p": 0.1}, {"top_k": 1}]
)
def test_what_it_cannot_do_is_refused(options: dict[str, object]) -> None:
    x = torch.randn(1, 1, 4, 2)
    with pytest.raises(ValueError, match="fused"):
        attended(x, x, x, area_size=2, impl="fused", **options)


def test_loading_it_leaves_the_arithmetic_of_python_alone() -> None:
    program = (
        "from areaviz.attention import fused; fused._library(); least = float.fromhex('0x1p-1022');"
        " print(least / 2)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert float(printed) > 0


@pytest.mark.parametrize(
    ("compiler", "told"), [(None, "needs a C compiler"), ("/bin/false", "could not be compiled")]
)
def test_without_a_working_compiler_it_says_so(
    monkeypatch: pytest.MonkeyPatch, compiler: str | None, told: str
) -> None:
    x = torch.randn(1, 1, 4, 2)
    fused._library.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(fused.shutil, "which", lambda name: compiler)
        assert not fused.available()
        with pytest.raises(RuntimeError, match=told):
            attended(x, x, x, area_size=2, impl="fused")
    fused._library.cache_clear()


@given(
    grid=st.sampled_from([(1, 1), (1, 9), (1, 40), (3, 4), (5, 5)]),
    area=st.tuples(st.integers(1, 3), st.integers(1, 5)),
    edges=st.booleans(),
    biased=st.booleans(),
    mask=st.sampled_from(["none", "causal", "padded"]),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_boundary_keys_and_size_biases_equal_the_pooled_form(
    grid: tuple[int, int], area: tuple[int, int], edges: bool, biased: bool, mask: str, seed: int
) -> None:
    torch.manual_seed(seed)
    area, items = (min(area[0], grid[0]), min(area[1], grid[1])), grid[0] * grid[1]
    keys = BoundaryKeys(8, area) if edges else None
    bias = torch.randn(3, area[0] * area[1], requires_grad=True) if biased or not edges else None
    inputs = [torch.randn(2, 3, items, 8, requires_grad=True) for _ in range(3)]
    masks: dict[str, Any] = {}
    if grid[0] == 1:
        masks["is_causal"] = mask == "causal"
        if mask == "padded":
            masks["key_padding_mask"] = torch.arange(items) >= torch.tensor(
                [[items], [max(1, items // 2)]]
            )
    learned = [
        *inputs,
        *([] if bias is None else [bias]),
        *([] if keys is None else keys.parameters()),
    ]
    found = []
    for impl in ("fused", "pooled"):
        output = attended(
            inputs[0],
            inputs[1],
            inputs[2],
            area_size=area,
            memory_shape=grid,
            key_mode="boundary" if edges else "mean",
            key_features=keys,
            size_bias=bias,
            impl=impl,
            **masks,
        )
        found.append((output, *torch.autograd.grad(output.square().sum(), learned)))
    for own, other in zip(*found, strict=True):
        torch.testing.assert_close(own, other, atol=2e-4, rtol=2e-3)


def test_a_bias_far_above_every_item_does_not_overflow() -> None:
    query, key, value = torch.zeros(1, 1, 2), torch.randn(1, 4, 2), torch.randn(1, 4, 2)
    output = attended(
        query, key, value, area_size=2, size_bias=torch.tensor([0.0, 1000.0]), impl="fused"
    )
    torch.testing.assert_close(output[0, 0], (value[0, :-1] + value[0, 1:]).mean(0))
