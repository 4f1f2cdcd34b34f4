"""Area attention by FlexAttention (Dong et al. 2024, arXiv:2412.05496) over pooled keys and values.

Each area has one key, which `pooled` computes. Masks and biases are functions of a logit's position
instead of matrices [B, H, Q, R]. Fully masked blocks of logits are never computed. With
causality these are about half of all blocks: areas are sorted by shape, and the areas of one shape
end one after the other.

Shapes: B batch, H heads, Q queries, M items, R areas, E key width, V value width. A position is
four numbers b, h, q, r.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from areaviz.attention.masks import find_last_items, make_area_mask
from areaviz.attention.pooled import list_area_biases, pool_keys_and_values
from areaviz.attention.spec import AreaResult, AreaSpec

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
