"""Caches of a memory that a decoder attends to at every step.

Shapes: B batch, H heads, Q queries, R areas, W model width, D width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.interventions import LayerInterventions


class CachedMemory(Protocol):
    """A cached memory of B examples that a decoder attends to at every step."""

    @property
    def batch(self) -> int:
        """The number of examples B."""

    def attend(self, query_BHQD: Tensor) -> Tensor:
        """Return the contexts [B, H, Q, D] of the queries."""


@dataclass(frozen=True, slots=True)
class AreaMemory:
    """Cached keys and values of areas that a decoder attends to at every step."""

    # Keys and values of every area, [B, H, R, D].
    key: Tensor
    value: Tensor
    # bool [B, 1, 1, R], or None if every area is allowed.
    allowed: Tensor | None
    # Keys and values from which the areas that end at the next item are computed, [B, H, at most
    # size, D]. They belong to the areas that end at the last item or, for learned keys, to the last
    # items.
    recent_key: Tensor
    recent_value: Tensor
    # Inputs of the convolution for the next item, keys and values side by side: [B, at most taps -
    # 1, 2W].
    recent_item: Tensor
    # Bias on the logits, [H, 1, R], or None.
    bias: Tensor | None = None
    # Changes to the attention, or None, and their factors on the weights, [H, 1, R].
    interventions: LayerInterventions | None = None
    multipliers: Tensor | None = None
    # Number of items of a growing sequence.
    items: int = 0

    @property
    def batch(self) -> int:
        """The number of examples."""
        return int(self.key.shape[0])

    def select(self, rows: Tensor) -> AreaMemory:
        """Return the memory of some rows of the batch, in the given order."""
        return replace(
            self,
            key=self.key.index_select(0, rows),
            value=self.value.index_select(0, rows),
            allowed=None if self.allowed is None else self.allowed[rows],
            recent_key=self.recent_key.index_select(0, rows),
            recent_value=self.recent_value.index_select(0, rows),
            recent_item=self.recent_item.index_select(0, rows),
        )

    def attend(self, query_BHQD: Tensor) -> Tensor:
        """Return the contexts [B, H, Q, D] of queries that may attend to every allowed area.

        Contexts are zeros if interventions ban every area.
        """
        bias_HQR = self.bias
        if self.multipliers is not None:
            logs_HQR = self.multipliers.log()
            bias_HQR = logs_HQR if bias_HQR is None else logs_HQR + bias_HQR
        mask, nothing = self.allowed, None
        if bias_HQR is not None:
            mask = bias_HQR[None].to(query_BHQD.dtype)
            if self.allowed is not None:
                mask = mask.masked_fill(~self.allowed, -torch.inf)
            if self.interventions is not None:
                # Some kernels leave a row without areas undefined, so such a row attends to all
                # areas and is set to zero afterwards.
                nothing = (mask == -torch.inf).all(-1, keepdim=True)
                mask = mask.masked_fill(nothing, 0.0)
        context_BHQD = F.scaled_dot_product_attention(query_BHQD, self.key, self.value, mask)
        if nothing is not None:
            context_BHQD = context_BHQD.masked_fill(nothing, 0.0)
        if self.interventions is None:
            return context_BHQD
        return self.interventions.apply_gates(context_BHQD)
