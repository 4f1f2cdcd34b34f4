"""Compiled implementations of area attention, with `compiled_area_attention` as their entry point.

A kernel computes the same results as the implementations in torch, for the devices, types and
options that it supports. On a CPU, the kernel is C code (`areas.c`). On a GPU, it is FlexAttention
over pooled keys (`flex.py`). Both are compiled on first use.
"""

from __future__ import annotations

from torch import Tensor

from areaviz.attention.kernels import build, cpu, cuda
from areaviz.attention.spec import AreaResult, AreaSpec


def is_available() -> bool:
    """Return whether there is a CPU kernel for this machine's processor."""
    return build.get_library() is not None


def compiled_area_attention(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, insist: bool = False
) -> AreaResult | None:
    """Compute area attention with a kernel: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V].

    Returns:
        None if no kernel supports the call. Without `insist`, also None if no kernel is the fastest
        implementation.
    """
    if cpu.supports(query, key, value, spec) and is_available():
        return cpu.compute_fused(query, key, value, spec)
    if cuda.supports(query, key, value, spec) and (insist or cuda.is_worthwhile(query, spec)):
        return cuda.compute_fused(query, key, value, spec)
    return None
