"""Attention sinks, which are scores that belong to no item. Attention to a sink reads nothing.

Shapes: H heads, Q queries, N memory items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from areaviz.adapters.heads import Heads
from areaviz.trace.record import Field

SINK_LABEL = "⟨nothing⟩"
NOTHING_SAID = f"heads have sinks, and their attention to no item is shown as the item {SINK_LABEL}"
NO_SHARES = (
    "not shown: its weights are below 0 or sum to more than 1, so they are not attention"
    " weights. They may be scores before the softmax, or heads that were mixed after it"
)
# Maximum deviation of a row's sum from 1 by rounding, as in models in half precision.
_ROUNDING = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A site at which a model attends, with the heads of its layers."""

    name: str
    # Names of the fields that attend and are attended to.
    query: str
    memory: str
    # Rows and columns of the memory, (1, N) for a text.
    shape: tuple[int, int]
    layers: Sequence[Heads]


def with_nothing(site: Site, fields: Mapping[str, Field]) -> tuple[Site, dict[str, Field]]:
    """Return a site whose rows all sum to 1.

    An extra last item receives the missing attention. A site without sinks is returned unchanged,
    and so is a picture. A picture has no room for an additional item, so its rows are normalised
    before this call.
    """
    if site.shape[0] > 1 or not any(has_sink(heads) for heads in site.layers):
        return site, dict(fields)
    memory = fields[site.memory]
    name = f"{memory.name} and nothing"
    end = len(memory.raw)
    anchors = np.vstack([memory.anchors, [[end, end]]]).astype(np.int64)
    added = replace(memory, name=name, labels=(*memory.labels, SINK_LABEL), anchors=anchors)
    layers = [_add_sink_item(heads) for heads in site.layers]
    shape = (1, site.shape[1] + 1)
    return Site(site.name, site.query, name, shape, layers), {**fields, name: added}


def has_sink(heads: Heads) -> bool:
    """Return whether a row sums to less than 1 by more than rounding.

    Fully masked rows do not count.
    """
    if heads.are_given:
        return False
    lacking = 1 - heads.weights.sum(-1)
    masked = heads.weights.amax(-1) == 0
    if heads.bias is not None:
        masked = (heads.bias == -torch.inf).all(-1).expand(lacking.shape)
    return bool(((lacking > _ROUNDING) & ~masked).any())


def _add_sink_item(heads: Heads) -> Heads:
    """Return the heads with an additional last item for the missing attention.

    Queries and keys give no score for that item.
    """
    lacking = 1 - heads.weights.sum(-1, keepdim=True)
    if not has_sink(heads):
        lacking = torch.zeros_like(lacking)
    return Heads(torch.cat([heads.weights, lacking.clamp_min(0)], -1)).beside(heads)


def are_shares(layers: Sequence[Heads]) -> bool:
    """Return whether no weight is below 0 and no row sums to more than 1.

    Values that are not finite pass this check.
    """
    for heads in layers:
        if heads.are_given:
            continue
        weights = heads.weights
        below, above = weights < 0, weights.sum(-1) > 1 + _ROUNDING
        if bool(weights.isfinite().all()) and bool(below.any() | above.any()):
            return False
    return True
