"""Area attention with a key and a value per area, and the masks and options of a call.

`AreaSpec` and `AreaResult` are the parameters and the result of a call in every implementation.
Read `compute_pooled` to see what a kernel must compute.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.keys import (
    AreaFeatures,
    BoundaryKeys,
    apply_to_last_axis,
    box_mean,
    box_scatter,
    box_sum,
    choose_sum_dtype,
    expand_to_areas,
    pool_areas,
)
from areaviz.trace.areas import AreaGrid

# Masks of items, and the masks of areas that they imply.
#
# Shapes: N rows (batch and heads together), Q queries, M memory items, R areas. An area is allowed
# only if all its items are allowed.


def make_area_mask(item_mask: Tensor, grid: AreaGrid) -> Tensor:
    """Return which areas are allowed, because all their items are: bool [..., M] -> [..., R]."""
    return apply_to_last_axis(box_sum, (~item_mask).to(torch.float32), grid) == 0


def average_bias(bias: Tensor, grid: AreaGrid) -> Tensor:
    """Return the mean bias of every area: [..., M] -> [..., R]."""
    return apply_to_last_axis(box_mean, bias, grid)


def find_last_items(grid: AreaGrid, device: torch.device) -> Tensor:
    """Return the last item of every area, counted row by row: int64 [R]."""
    # It is created on the device because the host would wait for a copy.
    item_HW = torch.arange(grid.items, device=device).view(grid.height, grid.width)
    ends = []
    for height, width in grid.shapes():
        ends.append(item_HW[height - 1 :, width - 1 :].flatten())
    return torch.cat(ends)


def find_causal_areas(queries: int, grid: AreaGrid, device: torch.device) -> Tensor:
    """Return which areas causality allows, bool [Q, R].

    Query i may attend to the areas that end at or before item i + M - Q.
    """
    newest_Q = torch.arange(queries, device=device) + (grid.items - queries)
    return find_last_items(grid, device) <= newest_Q[:, None]


@dataclass(frozen=True)
class ItemMask:
    """The items that each query may attend to."""

    # bool, each broadcasts to [..., Q, M]. An item is masked if any of them is True.
    blocked: tuple[Tensor, ...] = ()
    # Added to the item scores: broadcasts to [..., Q, M], finite.
    bias: Tensor | None = None
    # True if query i may attend only to items up to i + M - Q. Queries and items are aligned at
    # their ends because in decoding the last query belongs to the last item.
    causal: bool = False

    def __bool__(self) -> bool:
        return bool(self.blocked) or self.bias is not None or self.causal

    def find_allowed_items(self, queries: int, items: int, device: torch.device) -> Tensor | None:
        """Return the allowed items, bool broadcastable to [..., Q, M], or None without a mask."""
        return self.find_allowed_areas(AreaGrid(1, items, 1, 1), queries, device)

    def find_allowed_areas(
        self, grid: AreaGrid, queries: int, device: torch.device
    ) -> Tensor | None:
        """Return the allowed areas, bool broadcastable to [..., Q, R], or None without a mask."""
        allowed = find_causal_areas(queries, grid, device) if self.causal else None
        for blocked in self.blocked:
            part = make_area_mask(~blocked, grid)
            allowed = part if allowed is None else part & allowed
        return allowed


def combine_masks(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    is_causal: bool,
) -> ItemMask:
    """Combine the masks of one attention call.

    Args:
        query: [..., Q, E].
        key: [..., M, E].
        attn_mask: broadcasts to [..., Q, M]. bool: **True = keep**, as in
            scaled_dot_product_attention. float: its mean over an area is added to the area's scaled
            logit. A value of -inf masks the item.
        key_padding_mask: bool [B, M], B the first axis. **True = padding**, as in
            nn.MultiheadAttention.
        is_causal: whether query i may attend only to areas whose last item, counted row by row, is
            at most i + M - Q. (For Q != M, scaled_dot_product_attention aligns queries and items at
            their beginning instead.)

    Raises:
        ValueError: if a mask does not fit the query and key.
    """
    shape = (*query.shape[:-1], key.shape[-2])
    blocked, bias = [], None
    if attn_mask is not None:
        _check_mask(attn_mask, shape)
        mask = attn_mask.reshape((1,) * (len(shape) - attn_mask.dim()) + attn_mask.shape)
        if mask.dtype == torch.bool:
            blocked.append(~mask)
        else:
            hidden = mask.detach() == -torch.inf
            blocked.append(hidden)
            bias = mask.masked_fill(hidden, 0.0)
    if key_padding_mask is not None:
        blocked.append(_check_padding(key_padding_mask, shape))
    return ItemMask(tuple(blocked), bias, is_causal)


def zero_nonfinite_items(
    key: Tensor, value: Tensor, queries: int, mask: ItemMask
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Set items with NaN or infinity to zero, because 0 * NaN would turn masked sums into NaN.

    Returns:
        The key and value with those items set to zero, and the queries that may attend to such an
        item, bool [..., Q]. The results of these queries are NaN. None if it is known that there
        are no such queries.
    """
    # This check is for CPUs only: on other devices the host would wait for its result.
    if not mask or (key.device.type == "cpu" and _is_finite(key) and _is_finite(value)):
        return key, value, None
    bad = ~(key.isfinite().all(-1) & value.isfinite().all(-1))
    allowed = mask.find_allowed_items(queries, key.shape[-2], key.device)
    seen = bad.unsqueeze(-2) if allowed is None else bad.unsqueeze(-2) & allowed
    spoiled = seen.any(-1).expand(*key.shape[:-2], queries)
    bad = bad.unsqueeze(-1)
    return key.masked_fill(bad, 0.0), value.masked_fill(bad, 0.0), spoiled


def _is_finite(x: Tensor) -> bool:
    """Return whether all values are finite, with a single reduction.

    A NaN or infinity survives every sum. A sum that overflows only costs time.
    """
    return bool(x.detach().sum(dtype=choose_sum_dtype(x.dtype)).isfinite())


def _check_padding(padding: Tensor, shape: tuple[int, ...]) -> Tensor:
    batch, *between, items = shape
    if padding.dtype != torch.bool or not between or padding.shape != (batch, items):
        raise ValueError(
            f"key_padding_mask must be bool [batch, items] = {[batch, items]} (True = padding), got"
            f" {padding.dtype} {list(padding.shape)}."
        )
    return padding.view(batch, *[1] * len(between), items)


def can_broadcast(x: Tensor, shape: tuple[int, ...]) -> bool:
    """Return whether `x` broadcasts to a shape."""
    aligned = zip(reversed(x.shape), reversed(shape), strict=False)
    return x.dim() <= len(shape) and all(size in (1, whole) for size, whole in aligned)


def _check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    if not can_broadcast(mask, shape):
        raise ValueError(
            f"attn_mask {list(mask.shape)} must broadcast to [..., queries, items] = {list(shape)}."
        )
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ValueError(
            f"attn_mask must be bool (True = keep) or floating point, got {mask.dtype}."
        )


# The parameters and the results of one call of `area_attention`.
#
# The caller creates the parameters once. They go unchanged to every implementation and to the
# kernel.


KEY_MODES = ("mean", "max", "features", "boundary")
LEARNED_KEYS = ("features", "boundary")
"""Key modes that have parameters of their own."""
VALUE_MODES = ("sum", "mean", "max")
KeyModule = AreaFeatures | BoundaryKeys


@dataclass(frozen=True)
class AreaSpec:
    """The parameters of one call of `area_attention`."""

    # The memory and its areas.
    grid: AreaGrid
    # Factor on q . k.
    scale: float
    # The items that each query may attend to, and biases on their scores, see `combine_masks`.
    mask: ItemMask = field(default_factory=ItemMask)
    # "mean" (Eq. 3), "max", "features" (Eq. 9) or "boundary". The last two need their module.
    key_mode: str = "mean"
    features: KeyModule | None = None
    # "sum" (Eq. 4), "mean" or "max".
    value_mode: str = "sum"
    # Bias on the logit of every area of a shape: broadcasts to [..., S], S in the order of
    # `AreaGrid.shapes`. With it, mean keys let an area outweigh its best item.
    size_bias: Tensor | None = None
    # Factors on the area weights, [..., Q or 1, R], finite and at least 0. The products are then
    # divided by their sum. 0 bans the area.
    multipliers: Tensor | None = None
    # Number above 0 that divides the logits, including the mask bias and the size bias.
    temperature: float = 1.0
    # Number of areas with the largest weights that a query keeps. Their weights are normalised to a
    # sum of one.
    top_k: int | None = None
    # Probability of dropping an area weight, in training and in evaluation.
    dropout_p: float = 0.0
    # True if to return area weights and coverage.
    need_weights: bool = False

    def __post_init__(self) -> None:
        if self.key_mode not in KEY_MODES or self.value_mode not in VALUE_MODES:
            raise ValueError(
                f"key_mode must be one of {', '.join(KEY_MODES)} and value_mode one of "
                f"{', '.join(VALUE_MODES)}, got {self.key_mode!r} and {self.value_mode!r}."
            )
        kinds = {"features": AreaFeatures, "boundary": BoundaryKeys}
        if not isinstance(self.features, kinds.get(self.key_mode, type(None))):
            raise ValueError(
                "key_mode='features' and features=AreaFeatures(...) go together, 'boundary' and"
                " BoundaryKeys(...) too, and the other modes take no features; got"
                f" {self.key_mode!r} and {type(self.features).__name__}."
            )
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}.")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k must be at least 1, got {self.top_k}.")
        if not 0 <= self.dropout_p < 1:
            raise ValueError(f"dropout_p must be in [0, 1), got {self.dropout_p}.")

    @property
    def is_linear(self) -> bool:
        """True if area logits are sums of terms per item and shape, and outputs of item values.

        No area then needs a key or a value of its own.
        """
        return self.key_mode in ("mean", "boundary") and self.value_mode in ("sum", "mean")

    @property
    def is_regular(self) -> bool:
        """True for regular attention, for which torch has its own kernels."""
        return self.plain and self.grid.max_height * self.grid.max_width == 1

    @property
    def plain(self) -> bool:
        """True if only the output is requested, from an unmodified softmax."""
        changed = self.top_k is not None or self.dropout_p > 0 or self.multipliers is not None
        return not self.need_weights and not changed

    def fold_temperature(self) -> AreaSpec:
        """Return an equivalent spec with a temperature of 1.

        The temperature is divided into the scale, the mask bias and the size bias.
        """
        if self.temperature == 1:
            return self
        mask, size_bias = self.mask, self.size_bias
        if mask.bias is not None:
            mask = replace(mask, bias=mask.bias / self.temperature)
        if size_bias is not None:
            size_bias = size_bias / self.temperature
        scale = self.scale / self.temperature
        return replace(self, scale=scale, mask=mask, size_bias=size_bias, temperature=1.0)


class AreaResult(NamedTuple):
    """Output [..., Q, Ev] and, if requested, area weights [..., Q, R] and coverage [..., Q, M].

    Weights and coverage are computed before dropout, in float32 or wider. The coverage of an item
    is the summed weight of the areas that contain it. Over all items it adds up to the expected
    area size.
    """

    output: Tensor
    weights: Tensor | None = None
    coverage: Tensor | None = None


# Area attention with an explicit key and value per area.
#
# It supports every mode and uses torch's own attention kernels.
# Shapes: Q queries, M items, R areas, E key width, V value width.


def compute_pooled(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Compute area attention in any mode: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]."""
    query, area_key, area_value = pool_keys_and_values(query, key, value, spec)
    if spec.plain:
        return AreaResult(_attend_with_torch(query, area_key, area_value, spec))
    return attend_to_areas(query, area_key, area_value, spec)


def pool_keys_and_values(
    query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the keys [..., R, E] and values [..., R, V] of all areas.

    Returns:
        The queries, the area keys and the area values. With the keys of Eq. 9 the queries contain
        W_d.
    """
    if isinstance(spec.features, AreaFeatures):
        query, area_key = (
            spec.features.fold_query(query),
            spec.features.compute_hidden_keys(key, spec.grid),
        )
    elif spec.features is not None:
        area_key = spec.features(key, spec.grid)
    else:
        area_key = pool_areas(key, spec.grid, spec.key_mode)
    return query, area_key, pool_areas(value, spec.grid, spec.value_mode)


def attend_to_areas(
    query: Tensor, area_key: Tensor, area_value: Tensor, spec: AreaSpec
) -> AreaResult:
    """Attend to area keys [..., R, E] and values [..., R, V], with all weights in memory."""
    dtype = choose_sum_dtype(query.dtype)
    logits = query.to(dtype) @ area_key.to(dtype).transpose(-1, -2) * spec.scale
    masked = torch.finfo(dtype).min / 2
    for bias in list_area_biases(spec):
        logits = logits + bias
    allowed = spec.mask.find_allowed_areas(spec.grid, query.shape[-2], query.device)
    if allowed is not None:
        logits = logits.masked_fill(~allowed, 2 * masked)
    if spec.multipliers is not None:
        logits = multiply_weights(logits, spec.multipliers, masked)
    weights, used = compute_weights(logits, spec, -1, masked)
    output = (used @ area_value.to(dtype)).to(query.dtype)
    if not spec.need_weights:
        return AreaResult(output)
    return AreaResult(output, weights, apply_to_last_axis(box_scatter, weights, spec.grid))


def multiply_weights(logits: Tensor, multipliers: Tensor, masked: float) -> Tensor:
    """Change logits so that their softmax multiplies each area's weight. A factor of 0 masks it."""
    banned = multipliers == 0
    logs = multipliers.masked_fill(banned, 1.0).log()
    return (logits + logs).masked_fill(banned, 2 * masked)


def compute_weights(
    logits: Tensor, spec: AreaSpec, dim: int, masked: float
) -> tuple[Tensor, Tensor]:
    """Compute area weights along `dim`, before and after dropout.

    Logits of at most `masked` count as masked. If all are masked, the weights are zeros. With
    `top_k`, only the k largest logits of a query are kept, with ties broken arbitrarily, and their
    weights sum to one.
    """
    if spec.top_k is not None and spec.top_k < logits.shape[dim]:
        best = logits.topk(spec.top_k, dim).indices
        dropped = torch.ones_like(logits, dtype=torch.bool).scatter_(dim, best, False)
        logits = logits.masked_fill(dropped, masked)
    weights = logits.softmax(dim)
    if spec.mask or spec.multipliers is not None:
        weights = weights.masked_fill(logits <= masked, 0.0)
    return weights, F.dropout(weights, spec.dropout_p)


def list_area_biases(spec: AreaSpec) -> list[Tensor]:
    """Return the biases on the area logits. Each broadcasts to [..., Q, R]."""
    biases = []
    if spec.mask.bias is not None:
        biases.append(average_bias(spec.mask.bias, spec.grid))
    if spec.size_bias is not None:
        biases.append(expand_to_areas(spec.size_bias, spec.grid).unsqueeze(-2))
    return biases


def _attend_with_torch(
    query: Tensor, area_key: Tensor, area_value: Tensor, spec: AreaSpec
) -> Tensor:
    """Run `scaled_dot_product_attention` with the area mask, and return zeros if all is masked."""
    mask = spec.mask.find_allowed_areas(spec.grid, query.shape[-2], query.device)
    nothing = None
    if mask is not None:
        # Some kernels leave a row without areas undefined, so such a row attends to all areas and
        # is set to zero afterwards.
        nothing = ~mask.any(-1, keepdim=True)
        mask = mask | nothing
    biases = list_area_biases(spec)
    if biases:
        bias = sum(biases[1:], biases[0]).to(query.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    out = F.scaled_dot_product_attention(
        query, area_key, area_value, attn_mask=mask, scale=spec.scale
    )
    return out if nothing is None else out.masked_fill(nothing, 0.0)
