"""Compiled forms of area attention, behind one door: `fast`.

A kernel computes what the forms in torch compute, where it was written for the device, the types
and the options of a call. On a CPU that is C (`areas.c`), on a GPU FlexAttention over pooled keys
(`flex.py`), both compiled on first use.
"""

from __future__ import annotations

from torch import Tensor

from areaviz.attention.kernels import build, cpu, cuda
from areaviz.attention.spec import AreaResult, AreaSpec


def available() -> bool:
    """Whether there is a kernel for this machine's processor."""
    return build.library() is not None


def fast(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, insist: bool = False
) -> AreaResult | None:
    """[..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]; None where no kernel computes it, or
    none is the fastest and nobody insists.
    """
    if cpu.able(query, key, value, spec) and available():
        return cpu.fused(query, key, value, spec)
    if cuda.able(query, key, value, spec) and (insist or cuda.worth(query, spec)):
        return cuda.fused(query, key, value, spec)
    return None
