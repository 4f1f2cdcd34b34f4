"""Area attention (Li et al. 2019): scaled dot-product attention over areas of the memory.

How a layer sees its memory, and the function that every layer calls; the layer is in `multihead`,
what is kept of a memory while a sentence is decoded in `memory`.
Shapes: [...] batch and heads, Q queries, M = H*W items, R areas, E key width, V value width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from areaviz.attention.kernels import fast
from areaviz.attention.masks import broadcasts, shield
from areaviz.attention.pooled import pooled
from areaviz.attention.spec import AreaResult, AreaSpec
from areaviz.attention.streamed import streamed
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True)
class AreaOptions:
    """How a layer sees its memory."""

    # The most items an area holds; 1 is regular attention. On a grid, the most rows and columns.
    size: int | tuple[int, int] = 1
    # "mean" (Eq. 3), "max", "features" (Eq. 9) or "boundary".
    key_mode: str = "mean"
    # "sum" (Eq. 4), "mean" or "max".
    value_mode: str = "sum"
    # Rows and columns of a memory that is a grid, row by row; None for a sequence.
    shape: tuple[int, int] | None = None
    # Taps of a convolution over neighbouring keys and values; 1 for none.
    convolution: int = 1
    # Whether every head learns a number for each shape of an area, added to its logit.
    size_bias: bool = False
    # The largest areas that the learned parameters know; None for `size`.
    known_size: int | tuple[int, int] | None = None

    @property
    def extent(self) -> tuple[int, int]:
        """The most rows and columns an area has."""
        return _extent(self.size)

    @property
    def known_extent(self) -> tuple[int, int]:
        """The most rows and columns that learned keys and biases know."""
        return _extent(self.known_size or self.size)

    def grid(self, items: int) -> AreaGrid:
        """The areas of a memory of so many items; they never exceed it."""
        return AreaGrid.clamped(self.shape or (1, items), self.extent)


def _extent(size: int | tuple[int, int]) -> tuple[int, int]:
    return (1, size) if isinstance(size, int) else size


Form = Callable[[Tensor, Tensor, Tensor, AreaSpec], AreaResult]
FORMS: Mapping[str, Form] = {"pooled": pooled, "streamed": streamed}
"""Ways to compute the same in torch; `choose_impl` says which is taken where no kernel is."""


def area_attention(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, impl: str = "auto"
) -> AreaResult:
    """softmax(scale * q . area keys) times the area values (Eq. 1-4, Li et al. 2019).

    An area is allowed only if all its items are. A query that may see nothing gets zeros, with zero
    gradients. NaN or infinity in an item reaches only the queries that may see the item.

    Args:
        query: [..., Q, E], with at least one leading axis.
        key: [..., M, E], with the leading axes of the query.
        value: [..., M, Ev], with the same leading axes.
        spec: the areas, the masks and every option.
        impl: auto takes the fastest: a compiled kernel where one computes this (`fused`, which
            insists on it), else streamed or pooled, see `choose_impl`.

    Returns:
        The output [..., Q, Ev] and, where the spec asks for them, the weights and the coverage.

    Raises:
        ValueError: when shapes do not fit, or `impl` cannot compute what is asked for.
    """
    _check_shapes(query, key, value, spec)
    spec = spec.tempered()
    if 0 in query.shape[:-1]:
        return _empty(query, value, spec)
    key, value, spoiled = shield(key, value, query.shape[-2], spec.mask)
    # autocast would undo the casts to float32 that sums and weights are taken in.
    with torch.autocast(query.device.type, enabled=False):
        result = _computed(query, key, value, spec, impl)
    return result if spoiled is None else _spoil(result, spoiled)


def choose_impl(spec: AreaSpec, device: torch.device) -> str:
    """The form in torch that is fastest or smallest for these options.

    pooled, which knows every mode, also computes areas of one item by
    `scaled_dot_product_attention`; streamed does mean and boundary keys with sum or mean values.
    Where both apply, streamed needs half of the memory or less, in about the same time for mean
    keys on spans and mostly less on grids: on a CPU, see benchmarks/README.md. On a GPU streamed
    reads and writes every logit several times, which by the bound there takes 16 to 48 times as
    long as pooled keys in half precision.
    """
    if device.type == "cuda":
        return "pooled"
    return "streamed" if spec.is_linear and not spec.is_regular else "pooled"


def _computed(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec, impl: str) -> AreaResult:
    if impl == "fused" or (impl == "auto" and not spec.is_regular):
        result = fast(query, key, value, spec, insist=impl == "fused")
        if result is not None:
            return result
    if impl == "auto":
        impl = choose_impl(spec, query.device)
    _check_impl(impl, spec)
    return FORMS[impl](query, key, value, spec)


def _check_impl(impl: str, spec: AreaSpec) -> None:
    if impl == "fused":
        raise ValueError(
            "impl='fused' computes float32 and half precision without dropout or top_k: on a CPU"
            " with a C compiler (gcc or cc) mean or boundary keys with sum or mean values, and no"
            " gradients of weights; on a GPU, where FlexAttention can be compiled, no weights and"
            " no width below 16; use impl='auto'."
        )
    if impl not in FORMS:
        names = ", ".join(("auto", "fused", *FORMS))
        raise ValueError(f"impl must be one of {names}, got {impl!r}.")
    if impl == "streamed" and not spec.is_linear:
        raise ValueError(
            f"impl={impl!r} cannot do key_mode={spec.key_mode!r} with"
            f" value_mode={spec.value_mode!r}; use impl='auto' or impl='pooled'."
        )


def _spoil(result: AreaResult, spoiled: Tensor) -> AreaResult:
    """Give NaN to the queries that saw a NaN or infinity: spoiled is bool [..., Q]."""
    parts = []
    for part in result:
        if part is not None:
            nan = torch.zeros_like(spoiled, dtype=part.dtype).masked_fill(spoiled, torch.nan)
            parts.append(part + nan.unsqueeze(-1))
    return AreaResult(*parts)


def _empty(query: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """The results of no batch entry or no query at all, with the shapes they would have."""
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
        if bias.shape[-1:] != (kinds,) or not broadcasts(bias, shape):
            raise ValueError(
                f"size_bias {list(bias.shape)} must broadcast to [..., shapes of an area] ="
                f" {list(shape)}."
            )
