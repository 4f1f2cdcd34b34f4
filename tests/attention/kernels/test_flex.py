"""Area attention by FlexAttention, compared with slow loops.

FlexAttention is fast only on a GPU. It is defined logit by logit, so a slow form of it shows that
our rules and their gradients are right. torch's own function on a CPU shows that torch understands
them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.attention.flex_attention as torchs
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from areaviz.attention import area
from areaviz.attention.kernels.gpu import Tools, compute_with_flex
from areaviz.attention.keys import AreaFeatures, BoundaryKeys
from areaviz.attention.pooled import AreaSpec, ItemMask
from areaviz.trace.areas import AreaGrid
from tests.attention.call import attend, attended
from tests.attention.test_area import MODES, Case, cases

TORCHS = Tools(torchs.create_block_mask, torchs.flex_attention)


def logit_by_logit(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None,
    block_mask: Callable[..., Tensor] | None,
    scale: float,
) -> Tensor:
    """Compute FlexAttention by its definition. A block mask is the rule that it was made from."""
    logits = query @ key.transpose(-1, -2) * scale
    places = torch.meshgrid(*map(torch.arange, logits.shape), indexing="ij")
    if score_mod is not None:
        logits = score_mod(logits, *places)
    if block_mask is not None:
        logits = logits.masked_fill(~block_mask(*places), -torch.inf)
    nothing = (logits == -torch.inf).all(-1, keepdim=True)
    weights = logits.masked_fill(nothing, 0.0).softmax(-1).masked_fill(nothing, 0.0)
    return weights @ value


SLOW = Tools(lambda rule, *_, **__: rule, logit_by_logit)


@pytest.fixture(scope="module", autouse=True)
def a_form_like_the_others() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        forms = {
            "slow flex": partial(compute_with_flex, tools=SLOW),
            "flex": partial(compute_with_flex, tools=TORCHS),
        }
        patch.setattr(area, "AREA_FORMS", {**area.AREA_FORMS, **forms})
        # Otherwise torch compiles for every shape. The test of gradients resets this.
        patch.setattr(torchs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
        yield


@given(case=cases(), modes=st.sampled_from(MODES))
@settings(max_examples=40, deadline=None)
def test_flex_equals_slow_loops_with_gradients(case: Case, modes: tuple[str, str]) -> None:
    expected = case.expected(*modes).output
    output = case.run("slow flex", key_mode=modes[0], value_mode=modes[1])
    torch.testing.assert_close(output, expected, atol=1e-9, rtol=1e-9)
    slopes = []
    for x in (output, expected):
        # If everything is masked, the loops never use the inputs.
        touched = x.square().sum() + sum(0 * one.sum() for one in case.inputs)
        slopes.append(torch.autograd.grad(touched, case.inputs))
    torch.testing.assert_close(*slopes, atol=1e-9, rtol=1e-9)


def inputs(lead: tuple[int, int] = (2, 3), items: int = 6) -> list[Tensor]:
    torch.manual_seed(0)
    return [
        torch.randn(*lead, items, width, dtype=torch.float64, requires_grad=True)
        for width in (4, 4, 2)
    ]


def options() -> dict[str, dict[str, Any]]:
    """Return every supported option by name."""
    torch.manual_seed(1)
    boundary, features = BoundaryKeys(4, (1, 3)).double(), AreaFeatures(4, (1, 3)).double()
    padding = torch.zeros(2, 6, dtype=torch.bool)
    padding[0, 4:] = True
    banned = torch.rand(3, 6, 15, dtype=torch.float64).round()
    banned[0, 0] = 0
    return {
        "nothing": {},
        "causal": {"is_causal": True},
        "padded": {"key_padding_mask": padding},
        "both": {"key_padding_mask": padding, "is_causal": True},
        "a mask of every head": {"attn_mask": torch.rand(3, 6, 6) > 0.3},
        "a float mask": {"attn_mask": torch.randn(6, 6, dtype=torch.float64).clamp(min=-1)},
        "a bias of shapes": {"size_bias": torch.randn(3, 3, dtype=torch.float64)},
        "a bias of every example": {"size_bias": torch.randn(2, 3, 3, dtype=torch.float64)},
        "areas weighed": {"multipliers": banned},
        "boundary keys": {"key_mode": "boundary", "features": boundary, "is_causal": True},
        "features": {"key_mode": "features", "features": features, "temperature": 0.5},
    }


@pytest.mark.parametrize("name", options())
@pytest.mark.parametrize("impl", ["slow flex", "flex"])
def test_flex_options_match_the_pooled_form(name: str, impl: str) -> None:
    asked, given_ = options()[name], [x.detach() for x in inputs()]
    with torch.no_grad():
        found = attend(*given_, area_size=3, impl=impl, **asked).output
        expected = attend(*given_, area_size=3, impl="pooled", **asked).output
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)


def test_fully_masked_query_gets_zeros() -> None:
    padding = torch.tensor([[True] * 6, [False] * 6])
    given_ = [x.detach() for x in inputs()]
    found = attended(*given_, area_size=3, key_padding_mask=padding, impl="flex")
    assert not found[0].any() and found[1].all()


def test_torch_flex_gradients_match_slow_version(monkeypatch: pytest.MonkeyPatch) -> None:
    # torch rejects gradients on a CPU, although its implementation in plain operations has them.
    monkeypatch.setattr(torchs, "_validate_device", lambda *_: None)
    monkeypatch.setattr(torchs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", False)
    monkeypatch.setattr(torchs, "_warn_once", lambda *_, **__: None)
    bias = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    asked = {**options()["both"], "size_bias": bias}
    slopes = []
    for impl in ("flex", "slow flex", "pooled"):
        given_ = [*inputs(), bias]
        output = attended(*given_[:3], area_size=3, impl=impl, **asked)
        slopes.append(torch.autograd.grad(output.square().sum(), given_))
    torch.testing.assert_close(slopes[0], slopes[1], atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(slopes[0], slopes[2], atol=1e-9, rtol=1e-9)


def test_blocks_hidden_by_causality_are_skipped() -> None:
    made = []

    def keep(*place: Any, **options: Any) -> Any:
        made.append(torchs.create_block_mask(*place, **options))
        return made[0].mask_mod

    grid = AreaGrid(1, 1024, 1, 4)
    query, key, value = (torch.zeros(1, 1, 1024, 4) for _ in range(3))
    tools = Tools(keep, lambda query, *_, **__: query)
    compute_with_flex(query, key, value, AreaSpec(grid, 1.0, ItemMask(causal=True)), tools)
    # Each area size has 8 x 8 blocks, of which 8 are on the diagonal and 28 above it.
    assert 38 < made[0].sparsity() < 44


def test_half_precision_is_near_single_precision() -> None:
    single = [x.detach().float() for x in inputs()]
    half = [x.bfloat16() for x in single]
    found = attended(*half, area_size=3, is_causal=True, impl="slow flex")
    expected = attended(*single, area_size=3, is_causal=True, impl="pooled")
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected, atol=0.05, rtol=0.05)
