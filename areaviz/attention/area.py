"""Area attention (Li et al. 2019): scaled dot-product attention over areas of the memory.

Shapes: [...] batch and heads, Q queries, M = H*W items, R areas, E key width, V value width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from areaviz.attention.boundary import BoundaryKeys
from areaviz.attention.features import AreaFeatures
from areaviz.attention.kernels import fast
from areaviz.attention.masks import broadcasts, item_mask, shield
from areaviz.attention.pooled import pooled, table
from areaviz.attention.spec import KEY_MODES, VALUE_MODES, AreaResult, AreaSpec, KeyModule
from areaviz.attention.streamed import streamed
from areaviz.trace.areas import AreaGrid

Form = Callable[[Tensor, Tensor, Tensor, AreaSpec], AreaResult]
FORMS: Mapping[str, Form] = {
    "table": table,
    "pooled": pooled,
    "streamed": streamed,
}
"""Ways to compute the same in torch; `choose_impl` says which is taken where no kernel is."""


def area_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    area_size: int | tuple[int, int],
    memory_shape: tuple[int, int] | None = None,
    attn_mask: Tensor | None = None,
    key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
    dropout_p: float = 0.0,
    scale: float | None = None,
    key_mode: str = "mean",
    value_mode: str = "sum",
    temperature: float = 1.0,
    top_k: int | None = None,
    impl: str = "auto",
    need_weights: bool = False,
    key_features: KeyModule | None = None,
    multipliers: Tensor | None = None,
    size_bias: Tensor | None = None,
) -> AreaResult:
    """softmax(scale * q . area keys / temperature) times the area values (Eq. 1-4, Li et al. 2019).

    An area is allowed only if all its items are. A query that may see nothing gets zeros, with zero
    gradients. NaN or infinity in an item reaches only the queries that may see the item.

    Args:
        query: [..., Q, E].
        key: [..., M, E], with the leading axes of the query.
        value: [..., M, Ev], with the same leading axes.
        area_size: largest area, in items: the width of a span, or (height, width) on a grid.
        memory_shape: (height, width) of the memory, row by row; (1, M) by default.
        attn_mask: broadcasts to [..., Q, M]. bool: **True = keep**, as in
            scaled_dot_product_attention. float: its mean over an area is added to the area's scaled
            logit, -inf masks the item.
        key_padding_mask: bool [B, M], B the first axis. **True = padding**, as in
            nn.MultiheadAttention.
        is_causal: query i sees the areas whose last item, row by row, is at most i + M - Q. (For Q
            != M scaled_dot_product_attention aligns the other way, at the beginning.)
        dropout_p: probability that an area weight is dropped, whether training or not.
        scale: factor on q . k; E ** -0.5 by default.
        key_mode: mean (Eq. 3), max, features (Eq. 9) or boundary (`BoundaryKeys`), the last two
            with their module in `key_features`.
        value_mode: sum (Eq. 4), mean or max.
        temperature: divides the logits, mask included; above 0.
        top_k: keep exactly the k heaviest areas of every query; their weights sum to one again.
        impl: auto takes the fastest: a compiled kernel where one computes this (`fused`, which
            insists on it), else streamed or pooled, see `choose_impl`. `table` is the papers'.
        need_weights: also return the weights [..., Q, R] and the coverage [..., Q, M] of the same
            pass, both before dropout, in float32 or wider.
        multipliers: broadcasts to [..., Q, R], finite and 0 or more: every area's weight is
            multiplied by its own, then all are divided by their new sum. 0 bans the area.
        size_bias: broadcasts to [..., S], the leading axes those of the query, S the shapes an area
            can have in the order of `AreaGrid.shapes`: added to the logit of every area of that
            shape. With it mean keys let an area outweigh its best item.

    Returns:
        The output [..., Q, Ev] and, with `need_weights`, the weights and the coverage.

    Raises:
        ValueError: when shapes or options do not fit, an area exceeds the memory, or `impl` cannot
            compute them.
    """
    lone = query.dim() == 2
    if lone:
        query, key, value = query[None], key[None], value[None]
    _check_shapes(query, key, value)
    _check_keys(key_mode, value_mode, key_features)
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, got {temperature}.")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, got {top_k}.")
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be in [0, 1), got {dropout_p}.")
    mask = item_mask(query, key, attn_mask, key_padding_mask, is_causal, temperature)
    grid = _grid(area_size, memory_shape, key.shape[-2])
    if size_bias is not None:
        _check_size_bias(size_bias, grid, query)
        size_bias = size_bias / temperature
    spec = AreaSpec(
        grid,
        (query.shape[-1] ** -0.5 if scale is None else scale) / temperature,
        mask,
        key_mode,
        value_mode,
        key_features,
        size_bias,
        top_k,
        dropout_p,
        need_weights,
        None if multipliers is None else torch.atleast_2d(multipliers),
    )
    if 0 in query.shape[:-1]:
        result, spoiled = _empty(query, value, spec), None
    else:
        key, value, spoiled = shield(key, value, query.shape[-2], mask)
        # autocast would undo the casts to float32 that sums and weights are taken in.
        with torch.autocast(query.device.type, enabled=False):
            result = _computed(impl, query, key, value, spec)
    parts = [_finish(part, spoiled, lone) for part in result if part is not None]
    return AreaResult(*parts)


def choose_impl(spec: AreaSpec) -> str:
    """The form in torch that is fastest or smallest for these options.

    pooled, which knows every mode, also computes areas of one item by
    `scaled_dot_product_attention`; streamed does mean and boundary keys with sum or mean values.
    Where both apply, streamed needs half of the memory or less, in about the same time for mean
    keys on spans and mostly less on grids: on a CPU, see benchmarks/README.md.
    """
    return "streamed" if spec.is_linear and not _regular(spec) else "pooled"


def _regular(spec: AreaSpec) -> bool:
    """Whether this is regular attention, of which torch has kernels of its own."""
    return spec.plain and spec.grid.max_height * spec.grid.max_width == 1


def _computed(impl: str, query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    if impl == "fused" or (impl == "auto" and not _regular(spec)):
        result = fast(query, key, value, spec)
        if result is not None:
            return result
    if impl == "auto":
        impl = choose_impl(spec)
    _check_impl(impl, spec)
    return FORMS[impl](query, key, value, spec)


def _check_impl(impl: str, spec: AreaSpec) -> None:
    if impl == "fused":
        raise ValueError(
            "impl='fused' needs a C compiler (gcc or cc) and computes mean or boundary keys with"
            " sum or mean values, in float32 or half precision on a CPU, without dropout, top_k or"
            " gradients of weights; use impl='auto'."
        )
    if impl not in FORMS:
        names = ", ".join(("auto", "fused", *FORMS))
        raise ValueError(f"impl must be one of {names}, got {impl!r}.")
    lacks_mode = impl in ("streamed", "table") and not spec.is_linear
    if lacks_mode or (impl == "table" and not spec.means_alone):
        bias = "" if spec.size_bias is None else " and a size bias"
        raise ValueError(
            f"impl={impl!r} cannot do key_mode={spec.key_mode!r} with"
            f" value_mode={spec.value_mode!r}{bias}; use impl='auto' or impl='pooled'."
        )


def _finish(result: Tensor, spoiled: Tensor | None, lone: bool) -> Tensor:
    """Give NaN to the queries that saw a NaN or infinity, and drop the axis that was added."""
    if spoiled is not None:
        nan = torch.zeros_like(spoiled, dtype=result.dtype).masked_fill(spoiled, torch.nan)
        result = result + nan.unsqueeze(-1)
    return result[0] if lone else result


def _empty(query: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """The results of no batch entry or no query at all, with the shapes they would have."""
    lead = query.shape[:-1]
    output = query.new_zeros(*lead, value.shape[-1])
    if not spec.need_weights:
        return AreaResult(output)
    weights, coverage = (query.new_zeros(*lead, n) for n in (spec.grid.count, spec.grid.items))
    return AreaResult(output, weights, coverage)


def _grid(
    area_size: int | tuple[int, int], memory_shape: tuple[int, int] | None, items: int
) -> AreaGrid:
    height, width = memory_shape or (1, items)
    if height * width != items:
        raise ValueError(
            f"memory_shape {height}x{width} does not hold the {items} items of the memory."
        )
    if isinstance(area_size, int):
        if height > 1:
            raise ValueError(
                f"area_size must be (height, width) for a {height}x{width} memory, got {area_size}."
            )
        area_size = (1, area_size)
    return AreaGrid(height, width, *area_size)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor) -> None:
    shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if query.dim() < 3 or query.shape[:-2] != key.shape[:-2] or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"Leading axes must agree and key and value must have the same items, got {shapes}."
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"Query and key must have the same width, got {shapes}.")


def _check_size_bias(bias: Tensor, grid: AreaGrid, query: Tensor) -> None:
    shapes = grid.max_height * grid.max_width
    shape = (*query.shape[:-2], shapes)
    if bias.shape[-1:] != (shapes,) or not broadcasts(bias, shape):
        raise ValueError(
            f"size_bias {list(bias.shape)} must broadcast to [..., shapes of an area] ="
            f" {list(shape)}."
        )


def _check_keys(key_mode: str, value_mode: str, key_features: KeyModule | None) -> None:
    if key_mode not in KEY_MODES or value_mode not in VALUE_MODES:
        raise ValueError(
            f"key_mode must be one of {', '.join(KEY_MODES)} and value_mode one of "
            f"{', '.join(VALUE_MODES)}, got {key_mode!r} and {value_mode!r}."
        )
    kind = {"features": AreaFeatures, "boundary": BoundaryKeys}.get(key_mode, type(None))
    if not isinstance(key_features, kind):
        raise ValueError(
            "key_mode='features' and key_features=AreaFeatures(...) go together, 'boundary' and"
            f" BoundaryKeys(...) too, and the other modes take no key_features; got {key_mode!r}"
            f" and {type(key_features).__name__}."
        )
