"""Boundary keys and the size bias: every implementation compared with slow loops.

With them, a span can outweigh its items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from areaviz.attention.keys import AreaFeatures, AreaScores, BoundaryKeys, compute_area_logits
from areaviz.attention.pooled import AreaResult
from areaviz.trace.areas import AreaGrid
from tests import reference
from tests.attention.call import attend, attended
from tests.sampled import sampled

IMPLS = ("pooled", "streamed")


@dataclass(frozen=True)
class Case:
    """Random inputs of a random shape in float64, for one batch entry with two heads."""

    query: Tensor
    key: Tensor
    value: Tensor
    shape: tuple[int, int]
    area: tuple[int, int]
    keys: BoundaryKeys | None
    bias: Tensor | None
    padding: Tensor | None
    causal: bool
    value_mode: str

    @property
    def learned(self) -> list[Tensor]:
        """All tensors that have a gradient."""
        own = [] if self.keys is None else list(self.keys.parameters())
        return [self.query, self.key, self.value, *own, *([] if self.bias is None else [self.bias])]

    def run(self, impl: str, **options: Any) -> Any:
        result = attend(
            self.query,
            self.key,
            self.value,
            area_size=self.area,
            memory_shape=self.shape,
            key_padding_mask=self.padding,
            is_causal=self.causal,
            key_mode="mean" if self.keys is None else "boundary",
            features=self.keys,
            size_bias=self.bias,
            value_mode=self.value_mode,
            impl=impl,
            **options,
        )
        return result if "need_weights" in options else result.output

    def allowed(self) -> Tensor:
        queries, items = self.query.shape[-2], self.key.shape[-2]
        allowed = torch.ones(queries, items, dtype=torch.bool)
        if self.causal:
            allowed = torch.arange(items) <= torch.arange(queries)[:, None] + items - queries
        return allowed if self.padding is None else allowed & ~self.padding[0]

    def expected(self) -> AreaResult:
        """Compute the definition, one query and one area at a time."""
        memory = reference.areas(*self.shape, *self.area)
        shapes = reference.area_shapes(*self.shape, *self.area)
        parts = []
        for head in range(self.query.shape[1]):
            keys = [
                self._key(head, items, shape) for items, shape in zip(memory, shapes, strict=True)
            ]
            sizes = [self._bias(head, shape) for shape in shapes]
            inputs = (self.query[0, head], self.value[0, head], memory)
            parts.append(
                reference.weighed_areas(*inputs, self.allowed(), keys, sizes, self.value_mode)
            )
        return AreaResult(*(torch.stack(part)[None] for part in zip(*parts, strict=True)))

    def _key(self, head: int, items: list[int], shape: tuple[int, int]) -> Tensor:
        own = self.key[0, head]
        area = own[items].mean(0)
        if self.keys is None:
            return area
        embedded = torch.cat(
            [
                self.keys.height_embedding.weight[shape[0] - 1],
                self.keys.width_embedding.weight[shape[1] - 1],
            ]
        )
        edges = self.keys.start.weight @ own[items[0]] + self.keys.end.weight @ own[items[-1]]
        return area + edges + self.keys.shape.weight @ embedded

    def _bias(self, head: int, shape: tuple[int, int]) -> Tensor:
        if self.bias is None:
            return torch.zeros((), dtype=self.query.dtype)
        return self.bias[head, (shape[0] - 1) * self.area[1] + shape[1] - 1]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    height, width = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    area = draw(st.integers(1, height)), draw(st.integers(1, width))
    queries = draw(st.integers(1, 5))
    torch.manual_seed(draw(st.integers(0, 999)))
    shapes = [(queries, 4), (height * width, 4), (height * width, 2)]
    query, key, value = (
        torch.randn(1, 2, *shape, dtype=torch.float64, requires_grad=True) for shape in shapes
    )
    keys = draw(st.booleans())
    bias = torch.randn(2, area[0] * area[1], dtype=torch.float64, requires_grad=True)
    return Case(
        query,
        key,
        value,
        shape=(height, width),
        area=area,
        keys=BoundaryKeys(4, (area[0], area[1] + 1)).double() if keys else None,
        bias=bias if not keys or draw(st.booleans()) else None,
        padding=torch.rand(1, height * width) < 0.3 if draw(st.booleans()) else None,
        causal=draw(st.booleans()),
        value_mode=draw(st.sampled_from(("sum", "mean"))),
    )


@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_every_form_equals_slow_loops_with_gradients(case: Case) -> None:
    expected = case.expected().output
    pull = torch.randn_like(expected)
    slopes = _slopes(expected, pull, case)
    for impl in IMPLS:
        for output in (case.run(impl), case.run(impl, need_weights=True).output):
            torch.testing.assert_close(output, expected, atol=1e-9, rtol=1e-9)
            for own, other in zip(_slopes(output, pull, case), slopes, strict=True):
                torch.testing.assert_close(own, other, atol=1e-9, rtol=1e-9)


@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_weights_and_coverage_equal_slow_loops(case: Case) -> None:
    for impl in IMPLS:
        for own, other in zip(case.run(impl, need_weights=True), case.expected(), strict=True):
            torch.testing.assert_close(own, other, atol=1e-9, rtol=1e-9)


def _slopes(output: Tensor, pull: Tensor, case: Case) -> tuple[Tensor, ...]:
    untouched = sum(0 * x.sum() for x in case.learned)
    return torch.autograd.grad((output * pull).sum() + untouched, case.learned)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("shape", sampled([(1, 7), (3, 3)], (3, 3)))
@pytest.mark.parametrize("causal", sampled([False, True], True))
def test_gradients_pass_gradcheck(impl: str, shape: tuple[int, int], causal: bool) -> None:
    torch.manual_seed(0)
    area = (min(shape[0], 2), 3)
    keys = BoundaryKeys(3, area).double()
    items = shape[0] * shape[1]
    inputs = [
        torch.randn(1, 2, n, 3, dtype=torch.float64, requires_grad=True) for n in (4, items, items)
    ]
    bias = torch.randn(2, area[0] * area[1], dtype=torch.float64, requires_grad=True)

    def run(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, *_: Tensor) -> Tensor:
        return attended(
            query,
            key,
            value,
            area_size=area,
            memory_shape=shape,
            is_causal=causal,
            key_mode="boundary",
            features=keys,
            size_bias=bias,
            impl=impl,
        )

    assert torch.autograd.gradcheck(run, (*inputs, bias, *keys.parameters()))


@pytest.mark.parametrize("impl", IMPLS)
def test_block_size_does_not_change_the_result(impl: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    keys = BoundaryKeys(4, (1, 4))
    inputs = [torch.randn(3, 2, n, 4, requires_grad=True) for n in (130, 70, 70)]
    padding = torch.arange(70) >= torch.tensor([70, 9, 33])[:, None]
    options: dict[str, Any] = {
        "area_size": 4,
        "key_mode": "boundary",
        "features": keys,
        "impl": impl,
    }
    found = []
    for block in (1 << 20, 1 << 9):
        monkeypatch.setattr("areaviz.attention.streamed.CPU_BLOCK", block)
        output = attended(*inputs, **options, key_padding_mask=padding)
        found.append(
            (output, *torch.autograd.grad(output.square().sum(), [*inputs, *keys.parameters()]))
        )
    for own, other in zip(*found, strict=True):
        torch.testing.assert_close(own, other, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("impl", IMPLS)
def test_large_logits_do_not_overflow(impl: str) -> None:
    """With a bias of 1000 on pairs, the largest item logit does not bound the logits of areas."""
    query, key, value = torch.zeros(1, 1, 2), torch.randn(1, 4, 2), torch.randn(1, 4, 2)
    bias = torch.tensor([0.0, 1000.0])
    output = attended(query, key, value, area_size=2, size_bias=bias, impl=impl)
    pairs = value[0, :-1] + value[0, 1:]
    torch.testing.assert_close(output[0, 0], pairs.mean(0))


def test_boundary_keys_or_size_bias_let_spans_win() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(1, n, 8) for n in (200, 12, 12))
    plain = attend(query, key, value, area_size=3, need_weights=True).weights
    biased = attend(
        query, key, value, area_size=3, size_bias=torch.tensor([0.0, 1.0, 0.0]), need_weights=True
    )
    keys = BoundaryKeys(8, (1, 3))
    learned = attend(
        query, key, value, area_size=3, key_mode="boundary", features=keys, need_weights=True
    )
    assert plain is not None and biased.weights is not None and learned.weights is not None
    assert not (plain.argmax(-1) >= 12).any()
    assert (biased.weights.argmax(-1) >= 12).float().mean() > 0.5
    assert (learned.weights.argmax(-1) >= 12).float().mean() > 0.1


@pytest.mark.parametrize("impl", IMPLS)
def test_half_precision_keeps_logits_in_single_precision(impl: str) -> None:
    torch.manual_seed(0)
    keys = BoundaryKeys(16, (1, 5))
    inputs = [torch.randn(2, n, 16) for n in (20, 40, 40)]
    options: dict[str, Any] = {
        "area_size": 5,
        "key_mode": "boundary",
        "features": keys,
        "impl": impl,
    }
    exact = attended(*inputs, **options)
    half = attended(*(x.bfloat16() for x in inputs), **options)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, atol=0.08, rtol=0.05)


def test_temperature_top_k_and_factors_apply() -> None:
    torch.manual_seed(0)
    keys = BoundaryKeys(4, (1, 3))
    inputs = [torch.randn(1, n, 4) for n in (3, 6, 6)]
    options: dict[str, Any] = {
        "area_size": 3,
        "key_mode": "boundary",
        "features": keys,
        "need_weights": True,
    }
    factors = torch.ones(1, 15)
    factors[:, 6:] = 0
    for impl in IMPLS:
        few = attend(*inputs, **options, top_k=2, impl=impl).weights
        assert few is not None
        assert ((few > 0).sum(-1) == 2).all()
        items = attend(*inputs, **options, multipliers=factors, impl=impl).weights
        assert items is not None
        assert (items[..., 6:] == 0).all()
        torch.testing.assert_close(items.sum(-1), torch.ones(1, 3))


@given(st.integers(1, 3), st.integers(1, 4), st.data())
@settings(max_examples=30, deadline=None)
def test_area_logits_sum_parts_and_adjoint_is_transpose(
    height: int, width: int, data: st.DataObject
) -> None:
    grid = AreaGrid(
        height, width, data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    )
    torch.manual_seed(0)
    shapes = grid.max_height * grid.max_width
    parts = [
        torch.randn(2, n, 3, dtype=torch.float64, requires_grad=True)
        for n in (*[grid.items] * 3, shapes)
    ]
    logits = compute_area_logits(AreaScores(*parts), grid)
    for index, (top, left, h, w) in enumerate(grid.table().tolist()):
        items = [(top + y) * width + left + x for y in range(h) for x in range(w)]
        kind = list(grid.shapes()).index((h, w))
        mean, first, last, shape = parts
        expected = mean[:, items].mean(1) + first[:, items[0]] + last[:, items[-1]] + shape[:, kind]
        torch.testing.assert_close(logits[:, index], expected)
    assert torch.autograd.gradcheck(lambda *x: compute_area_logits(AreaScores(*x), grid), parts)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"key_mode": "boundary"}, "go together"),
        ({"key_mode": "boundary", "features": AreaFeatures(4, (1, 3))}, "go together"),
        ({"key_mode": "mean", "features": BoundaryKeys(4, (1, 3))}, "go together"),
        (
            {"key_mode": "boundary", "features": BoundaryKeys(4, (1, 2))},
            "Choose a smaller area size",
        ),
        ({"size_bias": torch.zeros(2)}, "must broadcast"),
    ],
)
def test_mismatched_argument_is_named(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        attended(
            torch.zeros(1, 2, 4), torch.zeros(1, 5, 4), torch.zeros(1, 5, 4), area_size=3, **options
        )
