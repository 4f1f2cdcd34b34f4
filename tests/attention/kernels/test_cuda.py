"""The choice of FlexAttention, and the trial of each kind of call before its first use.

These tests need no GPU. The CPU replaces it, and the slow form replaces what would be compiled.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from areaviz.attention.area import choose_impl
from areaviz.attention.kernels import cpu, gpu
from areaviz.attention.kernels.gpu import Tools
from areaviz.attention.pooled import AreaSpec, ItemMask
from areaviz.trace.areas import AreaGrid
from tests.attention.call import attended
from tests.attention.kernels.test_flex import SLOW

GRID = AreaGrid(1, 6, 1, 3)
CAUSAL = AreaSpec(GRID, 0.5, ItemMask(causal=True))


@pytest.fixture(autouse=True)
def every_kind_is_new() -> Iterator[None]:
    gpu.run_trial.cache_clear()
    yield
    gpu.run_trial.cache_clear()


Inputs = tuple[Tensor, Tensor, Tensor]


def inputs(lead: tuple[int, int] = (3, 2), width: int = 16) -> Inputs:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, *lead, 6, width).unbind()
    return query.requires_grad_(), key.requires_grad_(), value.requires_grad_()


def a_gpu(monkeypatch: pytest.MonkeyPatch, tools: Tools) -> list[tuple[int, ...]]:
    """Make the CPU count as a GPU with a compiler.

    Returns:
        The shapes of the queries of all calls, which grows with each call.
    """
    called: list[tuple[int, ...]] = []

    def attention(query: Tensor, *rest: Any, **options: Any) -> Tensor:
        called.append(tuple(query.shape))
        return tools.attention(query, *rest, **options)

    monkeypatch.setattr(cpu, "supports_cpu", lambda *_: False)
    monkeypatch.setattr(gpu, "supports_gpu", lambda *_: True)
    monkeypatch.setattr(gpu, "get_compiled_tools", lambda: tools._replace(attention=attention))
    return called


def test_each_kind_is_tried_once_on_two_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    called = a_gpu(monkeypatch, SLOW)
    expected = attended(*inputs(), area_size=3, is_causal=True, impl="pooled")
    for _ in range(2):
        found = attended(*inputs(), area_size=3, is_causal=True, impl="fused")
        torch.testing.assert_close(found, expected)
    assert [shape[0] for shape in called] == [2, 3, 3]


def fails(*_: Any, **__: Any) -> Tensor:
    raise RuntimeError("no Triton\nand much more")


def is_wrong(*given: Any, **options: Any) -> Tensor:
    return SLOW.attention(*given, **options) * 1.1


def has_wrong_gradients(*given: Any, **options: Any) -> Tensor:
    found = SLOW.attention(*given, **options)
    return found.detach() + 0.5 * (found - found.detach())


def is_none(*given: Any, **options: Any) -> Tensor:
    return SLOW.attention(*given, **options) * torch.nan


@pytest.mark.parametrize(
    ("attention", "reason"),
    [
        (fails, r"compiling it failed \(RuntimeError: no Triton\)"),
        (is_wrong, "differ from those of the pooled form"),
        (has_wrong_gradients, "differ from those of the pooled form"),
        (is_none, "differ from those of the pooled form"),
    ],
)
def test_failed_trial_is_reported_once_and_falls_back(
    monkeypatch: pytest.MonkeyPatch, attention: Any, reason: str
) -> None:
    monkeypatch.setattr(gpu, "is_gpu_worthwhile", lambda *_: True)
    called = a_gpu(monkeypatch, SLOW._replace(attention=attention))
    expected = attended(*inputs(), area_size=3, is_causal=True, impl="pooled")
    with pytest.warns(RuntimeWarning, match=reason):
        found = attended(*inputs(), area_size=3, is_causal=True)
    torch.testing.assert_close(found, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attended(*inputs(), area_size=3, is_causal=True)
    assert len(called) == 1


def test_full_device_is_not_a_failed_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Tensor:
        raise torch.OutOfMemoryError

    with pytest.raises(torch.OutOfMemoryError):
        gpu.compare_with_pooled(*inputs(), CAUSAL, SLOW._replace(attention=full))


def test_explicit_fused_request_reports_failed_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    a_gpu(monkeypatch, SLOW._replace(attention=fails))
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="can be compiled"):
        attended(*inputs(), area_size=3, impl="fused")


def test_trial_uses_masks_and_biases_of_its_examples() -> None:
    examples = inputs((3, 2))
    spec = AreaSpec(
        GRID,
        0.5,
        ItemMask((torch.rand(3, 1, 1, 6) < 0.3,), torch.randn(3, 1, 6, 6)),
        size_bias=torch.randn(3, 2, 3),
        multipliers=torch.rand(2, 1, 15),
    )
    assert gpu.compare_with_pooled(*examples, spec, SLOW) is None


def test_torch_recompile_limit_covers_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []

    def attention(*given: Any, **options: Any) -> Tensor:
        limits.append(torch._dynamo.config.recompile_limit)
        return SLOW.attention(*given, **options)

    a_gpu(monkeypatch, SLOW._replace(attention=attention))
    attended(*inputs(), area_size=3, impl="fused")
    assert limits == [gpu.MAX_KINDS, gpu.MAX_KINDS]


def kind(spec: AreaSpec, given: Inputs | None = None) -> gpu.Kind:
    return gpu.Kind.from_call(*(given or inputs()), spec)


def test_calls_of_a_kind_differ_only_in_lengths() -> None:
    longer = AreaSpec(AreaGrid(1, 9, 1, 2), 0.5, ItemMask(causal=True))
    x = torch.zeros(5, 2, 9, 16, requires_grad=True)
    assert kind(CAUSAL) == kind(longer, (x, x, x))
    query, key, value = inputs()
    others = [
        kind(AreaSpec(GRID, 0.5)),
        kind(AreaSpec(GRID, 0.5, ItemMask((torch.zeros(3, 1, 1, 6, dtype=torch.bool),)))),
        kind(AreaSpec(GRID, 0.5, ItemMask(causal=True), size_bias=torch.zeros(2, 3))),
        kind(CAUSAL, inputs(width=32)),
        kind(CAUSAL, inputs((1, 2))),
        kind(CAUSAL, (query.detach(), key.detach(), value.detach())),
    ]
    assert len({kind(CAUSAL), *others}) == 1 + len(others)


def test_compiling_pays_only_for_large_masked_training() -> None:
    few, many = (torch.empty(n, 8, 2048, 64, device="meta") for n in (1, 4))
    grid = AreaGrid(1, 2048, 1, 5)
    masked, plain = AreaSpec(grid, 1.0, ItemMask(causal=True)), AreaSpec(grid, 1.0)
    biased = AreaSpec(grid, 1.0, size_bias=torch.empty(8, 5, device="meta"))
    assert gpu.is_gpu_worthwhile(many, masked) and gpu.is_gpu_worthwhile(many, biased)
    assert not gpu.is_gpu_worthwhile(few, masked) and not gpu.is_gpu_worthwhile(many, plain)
    with torch.no_grad():
        assert not gpu.is_gpu_worthwhile(many, masked)


def test_gpu_default_is_torch_attention_to_pooled_keys() -> None:
    assert choose_impl(CAUSAL, torch.device("cuda")) == "pooled"
    assert choose_impl(CAUSAL, torch.device("cpu")) == "streamed"
    assert not gpu.supports_gpu(*inputs(), CAUSAL)
