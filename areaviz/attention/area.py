"""Area attention (Li et al. 2019): its options, its entry point, and the compiled kernels.

`area_attention` is the function that every layer calls. `compiled_area_attention` stands above
it and calls a kernel if one supports the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from areaviz.attention.kernels import cpu, gpu
from areaviz.attention.pooled import (
    AreaResult,
    AreaSpec,
    can_broadcast,
    compute_pooled,
    zero_nonfinite_items,
)
from areaviz.attention.streamed import compute_streamed
from areaviz.trace.areas import AreaGrid

# Compiled implementations of area attention, with `compiled_area_attention` as their entry point.
#
# A kernel computes the same results as the implementations in torch, for the devices, types and
# options that it supports. On a CPU, the kernel is C code (`kernels/areas.c`). On a GPU, it is
# FlexAttention over pooled keys (`kernels/gpu.py`). Both are compiled on first use.


def has_cpu_kernel() -> bool:
    """Return whether there is a CPU kernel for this machine's processor."""
    return cpu.get_library() is not None


def compiled_area_attention(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, insist: bool = False
) -> AreaResult | None:
    """Compute area attention with a kernel: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V].

    Returns:
        None if no kernel supports the call. Without `insist`, also None if no kernel is the fastest
        implementation.
    """
    if cpu.supports_cpu(query, key, value, spec) and has_cpu_kernel():
        return cpu.compute_on_cpu(query, key, value, spec)
    if gpu.supports_gpu(query, key, value, spec) and (insist or gpu.is_gpu_worthwhile(query, spec)):
        return gpu.compute_on_gpu(query, key, value, spec)
    return None


# Area attention (Li et al. 2019), scaled dot-product attention over areas of the memory.
#
# `AreaOptions` says which areas a layer forms, and `area_attention` is the function that every
# layer calls. The layer itself, `MultiHeadAttention`, and the cache that a decoder keeps are in
# `multihead.py`. Shapes: [...] batch and heads, Q queries, M = H*W items, R areas, E key width, V
# value width.


@dataclass(frozen=True, slots=True)
class AreaOptions:
    """The areas that a layer forms in its memory, and their keys and values."""

    # Largest number of items in an area. 1 is regular attention. On a grid: largest number of rows
    # and of columns.
    size: int | tuple[int, int] = 1
    # "mean" (Eq. 3), "max", "features" (Eq. 9) or "boundary".
    key_mode: str = "mean"
    # "sum" (Eq. 4), "mean" or "max".
    value_mode: str = "sum"
    # Rows and columns of a memory that is a grid, stored row by row. None for a sequence.
    shape: tuple[int, int] | None = None
    # Width of a convolution over neighbouring keys and values, 1 for no convolution.
    convolution: int = 1
    # True if every head learns a bias per area shape, which is added to the logit.
    size_bias: bool = False
    # Largest area size that the learned parameters cover. None stands for `size`.
    known_size: int | tuple[int, int] | None = None

    @property
    def extent(self) -> tuple[int, int]:
        """The largest number of rows and columns of an area."""
        return _expand_to_pair(self.size)

    @property
    def known_extent(self) -> tuple[int, int]:
        """The largest number of rows and columns that learned keys and biases cover."""
        return _expand_to_pair(self.known_size or self.size)

    def make_grid(self, items: int) -> AreaGrid:
        """Return the areas of a memory with `items` items.

        Areas are clamped to the size of the memory.
        """
        return AreaGrid.clamped(self.shape or (1, items), self.extent)


def _expand_to_pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (1, size) if isinstance(size, int) else size


Form = Callable[[Tensor, Tensor, Tensor, AreaSpec], AreaResult]
AREA_FORMS: Mapping[str, Form] = {"pooled": compute_pooled, "streamed": compute_streamed}
"""The implementations in torch, by name. Their results are equal.

`choose_impl` picks one of them when no compiled kernel applies.
"""


def area_attention(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, impl: str = "auto"
) -> AreaResult:
    """Compute area attention (Eq. 1-4, Li et al. 2019).

    The output is softmax(scale * q . area keys) times the area values. An area is allowed only if
    all its items are allowed. A query that may attend to nothing gets zeros, with zero gradients.
    NaN or infinity in an item affects only the queries that may attend to that item.

    Args:
        query: [..., Q, E], with at least one leading axis.
        key: [..., M, E], with the leading axes of the query.
        value: [..., M, Ev], with the same leading axes.
        spec: the areas, the masks and all options.
        impl: implementation to use. "auto" picks the fastest one available. "fused" requires a
            compiled kernel and fails without it. "streamed" and "pooled" are implementations in
            torch. See `choose_impl`.

    Returns:
        The output [..., Q, Ev] and, if the spec requests them, the weights and the coverage.

    Raises:
        ValueError: if shapes do not fit, or if `impl` does not support the options.
    """
    _check_shapes(query, key, value, spec)
    spec = spec.fold_temperature()
    if 0 in query.shape[:-1]:
        return _make_empty_result(query, value, spec)
    key, value, spoiled = zero_nonfinite_items(key, value, query.shape[-2], spec.mask)
    # Autocast would undo the casts to float32, in which sums and weights are computed.
    with torch.autocast(query.device.type, enabled=False):
        result = _compute(query, key, value, spec, impl)
    return result if spoiled is None else _propagate_nan(result, spoiled)


def choose_impl(spec: AreaSpec, device: torch.device) -> str:
    """Return the torch implementation that is faster or smaller for these options.

    "pooled" supports every mode and computes areas of one item with `scaled_dot_product_attention`.
    "streamed" supports mean and boundary keys with sum or mean values. Where both apply, "streamed"
    needs at most half of the memory. On a CPU it takes about the same time for mean keys on spans
    and mostly less on grids (see benchmarks/README.md). On a GPU it reads and writes every logit
    several times, which by the bound in that file takes 16 to 48 times as long as pooled keys in
    half precision.
    """
    if device.type == "cuda":
        return "pooled"
    return "streamed" if spec.is_linear and not spec.is_regular else "pooled"


def _compute(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, impl: str) -> AreaResult:
    if impl == "fused" or (impl == "auto" and not spec.is_regular):
        result = compiled_area_attention(query, key, value, spec, insist=impl == "fused")
        if result is not None:
            return result
    if impl == "auto":
        impl = choose_impl(spec, query.device)
    _check_impl(impl, spec)
    return AREA_FORMS[impl](query, key, value, spec)


def _check_impl(impl: str, spec: AreaSpec) -> None:
    if impl == "fused":
        raise ValueError(
            "impl='fused' computes float32 and half precision without dropout or top_k: on a"
            " CPU with a C compiler (gcc or cc) mean or boundary keys with sum or mean"
            " values, and no gradients of weights; on a GPU, where FlexAttention can be"
            " compiled, no weights and no width below 16. Use impl='auto'."
        )
    if impl not in AREA_FORMS:
        names = ", ".join(("auto", "fused", *AREA_FORMS))
        raise ValueError(f"impl must be one of {names}, got {impl!r}.")
    if impl == "streamed" and not spec.is_linear:
        raise ValueError(
            f"impl={impl!r} cannot do key_mode={spec.key_mode!r} with"
            f" value_mode={spec.value_mode!r}. Use impl='auto' or impl='pooled'."
        )


def _propagate_nan(result: AreaResult, spoiled: Tensor) -> AreaResult:
    """Set the results of the queries in `spoiled`, bool [..., Q], to NaN."""
    parts = []
    for part in result:
        if part is not None:
            nan = torch.zeros_like(spoiled, dtype=part.dtype).masked_fill(spoiled, torch.nan)
            parts.append(part + nan.unsqueeze(-1))
    return AreaResult(*parts)


def _make_empty_result(query: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Return results of the right shapes for an empty batch or for no queries."""
    lead = query.shape[:-1]
    output = query.new_zeros(*lead, value.shape[-1])
    if not spec.need_weights:
        return AreaResult(output)
    weights, coverage = (query.new_zeros(*lead, n) for n in (spec.grid.count, spec.grid.items))
    return AreaResult(output, weights, coverage)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> None:
    shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if query.dim() < 3 or query.shape[:-2] != key.shape[:-2] or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"Leading axes must agree and key and value must have the same items, got {shapes}."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"Query and key must have the same width, got {shapes}.")
    grid, bias = spec.grid, spec.size_bias
    if grid.items != key.shape[-2]:
        raise ValueError(
            f"A grid of {grid.height}x{grid.width} does not hold the {key.shape[-2]} items of the"
            " memory."
        )
    if bias is not None:
        kinds = grid.max_height * grid.max_width
        shape = (*query.shape[:-2], kinds)
        if bias.shape[-1:] != (kinds,) or not can_broadcast(bias, shape):
            raise ValueError(
                f"size_bias {list(bias.shape)} must broadcast to [..., shapes of an area] ="
                f" {list(shape)}."
            )
