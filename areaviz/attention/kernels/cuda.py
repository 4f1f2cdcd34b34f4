"""When attention on a GPU is computed by FlexAttention, compiled on first use.

Nobody has run this on a GPU yet, so each kind of call is tried where it is first met: two examples
of it, with their gradients, are compared with the pooled form. Where compiling fails or the numbers
differ, one warning says so and calls of that kind go to the pooled form.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from areaviz.attention.kernels.flex import Tools, flex
from areaviz.attention.pooled import area_biases, pooled
from areaviz.attention.spec import AreaResult, AreaSpec

TYPES = (torch.float32, torch.bfloat16, torch.float16)
NARROWEST = 16
"""The least width of a key or value that torch compiles FlexAttention for."""
# Logits from which on a training repays the seconds that compiling takes: by the bound of
# benchmarks/README.md so many take .1 ms on an H100 and .2 on an A100. Not measured.
WORTH = 1 << 28
# Of a result's largest number: products are rounded to ten bits (TF32) or eight (bfloat16).
DIFFERENCE = 0.03
# As many kinds are kept compiled.
KINDS = 256


@dataclass(frozen=True)
class Kind:
    """Calls that run the same compiled code."""

    device: torch.device
    dtype: torch.dtype
    # Whether there is more than one example; heads, width of a key, width of a value.
    several: bool
    sizes: tuple[int, int, int]
    causal: bool
    # For every mask and bias, which of its axes are not broadcast.
    masks: tuple[tuple[bool, ...], ...]
    biases: tuple[tuple[bool, ...], ...]
    gradients: bool

    @classmethod
    def of(cls, query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> Kind:
        """The kind of a call."""
        biases = area_biases(spec)
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
    """What came of trying a kind of call."""

    done: bool = False
    # Why such calls are not computed here; None where they are.
    refusal: str | None = None


@lru_cache(maxsize=KINDS)
def trial(kind: Kind) -> Trial:
    """The one trial of a kind in this process."""
    return Trial()


@cache
def compiled() -> Tools:
    """Compiled where they are first called, for memories of any length."""
    return Tools(
        torch.compile(create_block_mask, dynamic=True),
        torch.compile(flex_attention, dynamic=True, fullgraph=True),
    )


def able(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> bool:
    """Whether FlexAttention computes this, given that it can be compiled."""
    if not query.is_cuda or query.dtype not in TYPES or query.dim() != 4:
        return False
    if spec.need_weights or spec.top_k is not None or spec.dropout_p > 0:
        return False
    return min(key.shape[-1], value.shape[-1]) >= NARROWEST


def worth(query: Tensor, spec: AreaSpec) -> bool:
    """Whether it is the fastest form: while training, with masks or biases, and much to compute.

    Without them torch's own attention computes the same and need not be compiled. With them that
    reads a matrix of masks, computes what it hides and, where a bias is learned, writes its
    gradient for every logit.
    """
    changed = bool(spec.mask) or spec.size_bias is not None or spec.multipliers is not None
    if not changed or not torch.is_grad_enabled():
        return False
    return query.shape[:-1].numel() * spec.grid.count >= WORTH


def fused(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult | None:
    """[B, H, Q, E], [B, H, M, E], [B, H, M, V] -> [B, H, Q, V]; None where a trial failed."""
    one = trial(Kind.of(query, key, value, spec))
    if not one.done:
        one.done, one.refusal = True, tried(query, key, value, spec, compiled())
        if one.refusal is not None:
            warnings.warn(
                f"FlexAttention is not used for {tuple(query.shape)} queries: {one.refusal}",
                RuntimeWarning,
                stacklevel=2,
            )
    return None if one.refusal is not None else _run(query, key, value, spec, compiled())


def _run(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, tools: Tools) -> AreaResult:
    # Of one function torch compiles eight kinds, and refuses the ninth.
    with torch._dynamo.config.patch(recompile_limit=KINDS):
        return flex(query, key, value, spec, tools)


def tried(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, tools: Tools) -> str | None:
    """Compute two examples of a call and their gradients here and pooled; what is wrong, if any."""
    query, key, value = (x.detach()[:2] for x in (query, key, value))
    inputs = [query, key, value]
    for x in inputs:
        x.requires_grad_(torch.is_grad_enabled())
    few = _first_two(spec)
    try:
        found = _outcome(_run(query, key, value, few, tools), inputs)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a compiler cannot do
        return f"compiling it failed ({type(error).__name__}: {str(error).partition(chr(10))[0]})."
    expected = _outcome(pooled(query, key, value, few), inputs)
    for own, other in zip(found, expected, strict=True):
        # NaN is no agreement.
        if not (own - other).abs().max() <= DIFFERENCE * other.abs().max():
            return "its results differ from those of the pooled form."
    return None


def _outcome(result: AreaResult, inputs: list[Tensor]) -> list[Tensor]:
    """The output and, where they are wanted, the gradients of its sum of squares."""
    parts = [result.output]
    if result.output.requires_grad:
        parts += torch.autograd.grad(result.output.float().square().sum(), inputs)
    return parts


def _first_two(spec: AreaSpec) -> AreaSpec:
    """What is asked for of the first two examples."""

    def cut(x: Tensor | None, axes: int) -> Tensor | None:
        return x[:2] if x is not None and x.dim() == axes else x

    blocked = tuple(mask[:2] for mask in spec.mask.blocked)
    mask = replace(spec.mask, blocked=blocked, bias=cut(spec.mask.bias, 4))
    size_bias, multipliers = cut(spec.size_bias, 3), cut(spec.multipliers, 4)
    return replace(spec, mask=mask, size_bias=size_bias, multipliers=multipliers)
