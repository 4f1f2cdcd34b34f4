"""Area attention on a GPU by FlexAttention, and the trial that decides whether to use it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from areaviz.attention.pooled import (
    AreaResult,
    AreaSpec,
    compute_pooled,
    find_last_items,
    list_area_biases,
    make_area_mask,
    pool_keys_and_values,
)

# Area attention by FlexAttention (Dong et al. 2024, arXiv:2412.05496) over pooled keys and values.
#
# Each area has one key, which `pooled.py` computes. Masks and biases are functions of a logit's
# position instead of matrices [B, H, Q, R]. Fully masked blocks of logits are never computed. With
# causality these are about half of all blocks: areas are sorted by shape, and the areas of one
# shape end one after the other.
#
# Shapes: B batch, H heads, Q queries, M items, R areas, E key width, V value width. A position is
# four numbers b, h, q, r.


At = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
"""A function that returns a number for every position."""
Added = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""A function that returns a logit, given the product of query and key and its position."""


class Tools(NamedTuple):
    """`create_block_mask` and `flex_attention` of torch, compiled or not.

    They are from `torch.nn.attention.flex_attention`.
    """

    block_mask: Callable[..., Any]
    attention: Callable[..., Tensor]


def compute_with_flex(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, tools: Tools
) -> AreaResult:
    """Compute area attention in any mode: [B, H, Q, E], [B, H, M, E], [B, H, M, V] -> [B, H, Q, V].

    FlexAttention does not support returning weights, top-k or dropout.
    """
    query, area_key, area_value = pool_keys_and_values(query, key, value, spec)
    output = tools.attention(
        query,
        area_key,
        area_value,
        score_mod=_make_logit_change(spec),
        block_mask=_make_block_mask(query, spec, tools),
        scale=spec.scale,
    )
    return AreaResult(output)


def _make_block_mask(query: Tensor, spec: AreaSpec, tools: Tools) -> Any:
    """Return which blocks of logits are computed and the mask inside them, or None for no mask."""
    device, queries = query.device, query.shape[2]
    rules, batch, heads = [], None, None
    if spec.mask.causal:
        newest_Q = torch.arange(queries, device=device) + (spec.grid.items - queries)
        rules.append(_make_causal_rule(find_last_items(spec.grid, device), newest_Q))
    for blocked in spec.mask.blocked:
        open_BHQR = make_area_mask(~blocked, spec.grid)
        rules.append(_make_reader(open_BHQR))
        batch = query.shape[0] if open_BHQR.shape[0] > 1 else batch
        heads = query.shape[1] if open_BHQR.shape[1] > 1 else heads
    if not rules:
        return None

    def may_see(b: Tensor, h: Tensor, q: Tensor, r: Tensor) -> Tensor:
        seen = rules[0](b, h, q, r)
        for rule in rules[1:]:
            seen = seen & rule(b, h, q, r)
        return seen

    return tools.block_mask(may_see, batch, heads, queries, spec.grid.count, device=device)


def _make_logit_change(spec: AreaSpec) -> Added | None:
    """Return the function that changes a product of query and key, or None if there is no bias."""
    biases = list_area_biases(spec)
    if spec.multipliers is not None:
        # The logarithm of 0 is -inf, which bans the area.
        biases.append(spec.multipliers.log())
    if not biases:
        return None
    terms = [_make_reader(bias) for bias in biases]

    def add_terms(score: Tensor, b: Tensor, h: Tensor, q: Tensor, r: Tensor) -> Tensor:
        for term in terms:
            score = score + term(b, h, q, r)
        return score

    return add_terms


def _make_causal_rule(last_R: Tensor, newest_Q: Tensor) -> At:
    """Return a rule for areas that end at or before the newest item that the query may see."""

    def has_ended(b: Tensor, h: Tensor, q: Tensor, r: Tensor) -> Tensor:
        return last_R[r] <= newest_Q[q]

    return has_ended


def _make_reader(x: Tensor) -> At:
    """Return a function that reads a tensor which broadcasts to [B, H, Q, R].

    Broadcast axes are not copied.
    """
    x_BHQR = x.reshape((1,) * (4 - x.dim()) + x.shape)
    by_example, by_head, by_query = (size > 1 for size in x_BHQR.shape[:3])

    def read_value(b: Tensor, h: Tensor, q: Tensor, r: Tensor) -> Tensor:
        place = (b if by_example else 0, h if by_head else 0, q if by_query else 0, r)
        return x_BHQR[place]

    return read_value


# The choice of FlexAttention for attention on a GPU, compiled on first use.
#
# This code has not yet run on a GPU. Each kind of call is therefore tested on first use: two of its
# examples, with their gradients, are compared with the pooled implementation. If compiling fails or
# the numbers differ, one warning is given and calls of that kind use the pooled implementation.


GPU_TYPES = (torch.float32, torch.bfloat16, torch.float16)
MIN_WIDTH = 16
"""Smallest width of a key or value for which torch compiles FlexAttention."""
# Number of logits from which compiling, which takes seconds, pays off in training. By the bound of
# benchmarks/README.md, this many logits take 0.1 ms on an H100 and 0.2 ms on an A100. This is not
# measured.
MIN_LOGITS = 1 << 28
# Largest accepted difference, as a fraction of a result's largest number: products are rounded to
# ten bits (TF32) or eight (bfloat16).
MAX_DIFFERENCE = 0.03
# Maximum number of kinds of calls that stay compiled.
MAX_KINDS = 256


@dataclass(frozen=True)
class Kind:
    """A kind of call: all calls that run the same compiled code."""

    device: torch.device
    dtype: torch.dtype
    # True if there is more than one example. Then the number of heads, the width of a key and the
    # width of a value.
    several: bool
    sizes: tuple[int, int, int]
    causal: bool
    # For every mask and bias: which of its axes are not broadcast.
    masks: tuple[tuple[bool, ...], ...]
    biases: tuple[tuple[bool, ...], ...]
    gradients: bool

    @classmethod
    def from_call(cls, query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> Kind:
        """Return the kind of a call."""
        biases = list_area_biases(spec)
        if spec.multipliers is not None:
            biases.append(spec.multipliers)
        learned = any(part.requires_grad for part in (query, key, value, *biases))
        return cls(
            query.device,
            query.dtype,
            query.shape[0] > 1,
            (query.shape[1], key.shape[-1], value.shape[-1]),
            spec.mask.causal,
            tuple(tuple(n > 1 for n in mask.shape) for mask in spec.mask.blocked),
            tuple(tuple(n > 1 for n in bias.shape) for bias in biases),
            learned and torch.is_grad_enabled(),
        )


@dataclass
class Trial:
    """The result of testing a kind of call."""

    done: bool = False
    # The reason why FlexAttention is not used for such calls, or None if it is used.
    refusal: str | None = None


@lru_cache(maxsize=MAX_KINDS)
def run_trial(kind: Kind) -> Trial:
    """Return the trial of a kind, which is cached for this process."""
    return Trial()


@cache
def get_compiled_tools() -> Tools:
    """Return the functions that torch compiles on their first call, for any memory length."""
    return Tools(
        torch.compile(create_block_mask, dynamic=True),
        torch.compile(flex_attention, dynamic=True, fullgraph=True),
    )


def supports_gpu(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> bool:
    """Return whether FlexAttention supports this call, provided that it can be compiled."""
    if not query.is_cuda or query.dtype not in GPU_TYPES or query.dim() != 4:
        return False
    if spec.need_weights or spec.top_k is not None or spec.dropout_p > 0:
        return False
    return min(key.shape[-1], value.shape[-1]) >= MIN_WIDTH


def is_gpu_worthwhile(query: Tensor, spec: AreaSpec) -> bool:
    """Return whether FlexAttention is expected to be the fastest implementation.

    This is the case in training, with masks or biases and enough logits. Without masks and biases,
    torch's own attention gives the same result and needs no compilation. With masks or biases,
    torch's own attention reads a mask matrix and computes masked logits. If a bias is learned, it
    also writes the gradient of every logit.
    """
    changed = bool(spec.mask) or spec.size_bias is not None or spec.multipliers is not None
    if not changed or not torch.is_grad_enabled():
        return False
    return query.shape[:-1].numel() * spec.grid.count >= MIN_LOGITS


def compute_on_gpu(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult | None:
    """Compute area attention with FlexAttention, or return None if its trial failed.

    [B, H, Q, E], [B, H, M, E], [B, H, M, V] -> [B, H, Q, V].
    """
    one = run_trial(Kind.from_call(query, key, value, spec))
    if not one.done:
        one.done, one.refusal = (
            True,
            compare_with_pooled(query, key, value, spec, get_compiled_tools()),
        )
        if one.refusal is not None:
            warnings.warn(
                f"FlexAttention is not used for {tuple(query.shape)} queries: {one.refusal}",
                RuntimeWarning,
                stacklevel=2,
            )
    return (
        None
        if one.refusal is not None
        else _run_flex(query, key, value, spec, get_compiled_tools())
    )


def _run_flex(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, tools: Tools
) -> AreaResult:
    # By default, torch compiles eight variants of one function and refuses the ninth.
    with torch._dynamo.config.patch(recompile_limit=MAX_KINDS):
        return compute_with_flex(query, key, value, spec, tools)


def compare_with_pooled(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, tools: Tools
) -> str | None:
    """Compare FlexAttention with the pooled implementation on two examples and their gradients.

    Returns:
        A sentence that says what is wrong, or None if the results agree.
    """
    query, key, value = (x.detach()[:2] for x in (query, key, value))
    inputs = [query, key, value]
    for x in inputs:
        x.requires_grad_(torch.is_grad_enabled())
    few = _keep_first_two(spec)
    try:
        found = _collect_outcome(_run_flex(query, key, value, few, tools), inputs)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # a compiler may raise any exception
        return f"compiling it failed ({type(error).__name__}: {str(error).partition(chr(10))[0]})."
    expected = _collect_outcome(compute_pooled(query, key, value, few), inputs)
    for own, other in zip(found, expected, strict=True):
        # Written with `not`, so that NaN counts as a difference.
        if not (own - other).abs().max() <= MAX_DIFFERENCE * other.abs().max():
            return "its results differ from those of the pooled form."
    return None


def _collect_outcome(result: AreaResult, inputs: list[Tensor]) -> list[Tensor]:
    """Return the output and, if it requires gradients, the gradients of its sum of squares."""
    parts = [result.output]
    if result.output.requires_grad:
        parts += torch.autograd.grad(result.output.float().square().sum(), inputs)
    return parts


def _keep_first_two(spec: AreaSpec) -> AreaSpec:
    """Return the spec for the first two examples."""

    def cut(x: Tensor | None, axes: int) -> Tensor | None:
        return x[:2] if x is not None and x.dim() == axes else x

    blocked = tuple(mask[:2] for mask in spec.mask.blocked)
    mask = replace(spec.mask, blocked=blocked, bias=cut(spec.mask.bias, 4))
    size_bias, multipliers = cut(spec.size_bias, 3), cut(spec.multipliers, 4)
    return replace(spec, mask=mask, size_bias=size_bias, multipliers=multipliers)
