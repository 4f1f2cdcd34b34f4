"""What is kept of a memory that is attended to again and again while a sentence is decoded.

Shapes: B batch, H heads, Q queries, R areas, W model width, D width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.interventions import LayerInterventions


class Remembered(Protocol):
    """What is attended to again and again while a sentence is decoded, of B examples."""

    @property
    def batch(self) -> int:
        """B."""

    def ask(self, query_BHQD: Tensor) -> Tensor:
        """Contexts [B, H, Q, D]."""


@dataclass(frozen=True, slots=True)
class AreaMemory:
    """Keys and values of areas, attended to again and again while a sentence is decoded."""

    # Of every area, [B, H, R, D].
    key: Tensor
    value: Tensor
    # bool [B, 1, 1, R], or None where every area may be attended.
    allowed: Tensor | None
    # What the areas that end at the next item are made from, [B, H, at most size, D]: the areas
    # that end at the last item or, where keys are learned, the last items.
    recent_key: Tensor
    recent_value: Tensor
    # What the convolution of the next item mixes in, keys and values side by side:
    # [B, at most taps - 1, 2W].
    recent_item: Tensor
    # Added to the logits, [H, 1, R], or None for nothing.
    bias: Tensor | None = None
    # What is done otherwise, None for nothing, and what it multiplies weights by, [H, 1, R].
    interventions: LayerInterventions | None = None
    multipliers: Tensor | None = None
    # How many items a growing sequence has.
    items: int = 0

    @property
    def batch(self) -> int:
        """How many examples there are."""
        return int(self.key.shape[0])

    def select(self, rows: Tensor) -> AreaMemory:
        """The memory of some rows of the batch, in the order given."""
        return replace(
            self,
            key=self.key.index_select(0, rows),
            value=self.value.index_select(0, rows),
            allowed=None if self.allowed is None else self.allowed[rows],
            recent_key=self.recent_key.index_select(0, rows),
            recent_value=self.recent_value.index_select(0, rows),
            recent_item=self.recent_item.index_select(0, rows),
        )

    def ask(self, query_BHQD: Tensor) -> Tensor:
        """Contexts [B, H, Q, D] of queries that may attend to every allowed area.

        They are zeros where interventions ban every area.
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
                # Not every kernel defines a row without areas, so it sees all and is then cleared.
                nothing = (mask == -torch.inf).all(-1, keepdim=True)
                mask = mask.masked_fill(nothing, 0.0)
        context_BHQD = F.scaled_dot_product_attention(query_BHQD, self.key, self.value, mask)
        if nothing is not None:
            context_BHQD = context_BHQD.masked_fill(nothing, 0.0)
        if self.interventions is None:
            return context_BHQD
        return self.interventions.gated(context_BHQD)
