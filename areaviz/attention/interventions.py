"""Attention that is changed from outside: areas weighed otherwise, heads gated (see
`areaviz.trace.interventions`).

Shapes: B batch, H heads, Q queries, R areas, D width of a head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.interventions import Change, Gate, Hide, Weigh, area_factors, weighed


@dataclass(frozen=True, slots=True)
class Steering:
    """What is done otherwise in one attention of one layer with so many heads.

    hidden: items of the memory that count as padding; `weighs` bans their areas, and no neighbour
    may mix them in.
    """

    heads: int
    weighs: tuple[Weigh, ...] = ()
    gates: tuple[Gate, ...] = ()
    hidden: tuple[int, ...] = ()

    def factors(self, grid: AreaGrid, queries: int, device: torch.device) -> Tensor | None:
        """What the weight of every area is multiplied by, [H, Q or 1, R]; None where no area is
        weighed.
        """
        if not self.weighs:
            return None
        factors_HQR = area_factors(self.weighs, grid.table(), grid.width, self.heads, queries)
        return torch.from_numpy(factors_HQR).to(device)

    def factors_at_end(self, items: int, most: int, device: torch.device) -> Tensor:
        """The same of the spans of a sequence that end at its last item, shortest first: [H, 1, at
        most `most`].
        """
        spans = [Area(0, items - width, 1, width) for width in range(1, min(most, items) + 1)]
        table_R4 = np.array(
            [(span.top, span.left, span.height, span.width) for span in spans], dtype=np.int64
        )
        return torch.from_numpy(area_factors(self.weighs, table_R4, items, self.heads, 1)).to(
            device
        )

    def gated(self, context_BHQD: Tensor) -> Tensor:
        """What the heads read, times the factors of their gates."""
        if not self.gates:
            return context_BHQD
        factor_H11 = context_BHQD.new_ones(self.heads, 1, 1)
        for gate in self.gates:
            factor_H11[slice(None) if gate.head is None else gate.head] *= gate.factor
        return context_BHQD * factor_H11


@dataclass(frozen=True, slots=True)
class Changed:
    """All that is done otherwise in a network; the default changes nothing."""

    changes: tuple[Weigh | Gate, ...] = ()
    heads: int = 1
    hides: tuple[Hide, ...] = ()
    memories: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls, changes: Sequence[Change], sites: Mapping[str, tuple[str, str]], heads: int
    ) -> Self:
        """Of a request; sites: the fields that attend and are attended to, by site."""
        memories = tuple((site, memory) for site, (_, memory) in sites.items())
        hides = tuple(one for one in changes if isinstance(one, Hide))
        return cls(tuple(weighed(changes, sites)), heads, hides, memories)

    def hidden(self, field: str) -> list[int]:
        """The hidden items of an input, for what a network makes of them without attention."""
        return sorted({item for one in self.hides if one.field == field for item in one.items})

    def at(self, site: str, layer: int) -> Steering | None:
        """Of one layer (0-based) of one site; None where nothing changes there."""
        here = [one for one in self.changes if one.site == site and one.layer in (None, layer)]
        if not here:
            return None
        weighs = tuple(one for one in here if isinstance(one, Weigh))
        gates = tuple(one for one in here if isinstance(one, Gate))
        memory = dict(self.memories).get(site)
        return Steering(self.heads, weighs, gates, tuple(self.hidden(memory)) if memory else ())


UNCHANGED = Changed()


@dataclass(frozen=True, slots=True)
class Steered:
    """Steering of a memory that is asked again and again: factors [H, 1, R] or None, of a memory of
    so many items.
    """

    steering: Steering
    factors: Tensor | None
    items: int

    @classmethod
    def over(cls, steering: Steering | None, grid: AreaGrid, device: torch.device) -> Self | None:
        """For a finished memory; None where nothing is steered."""
        return (
            None
            if steering is None
            else cls(steering, steering.factors(grid, 1, device), grid.items)
        )

    @classmethod
    def begun(cls, steering: Steering | None) -> Self | None:
        """For a memory that holds nothing yet."""
        return None if steering is None else cls(steering, None, 0)

    def extended(self, most: int, device: torch.device) -> Steered:
        """With one item more, at which areas of at most so many items end."""
        longer = replace(self, items=self.items + 1)
        if not self.steering.weighs:
            return longer
        new = self.steering.factors_at_end(longer.items, most, device)
        return replace(
            longer, factors=new if self.factors is None else torch.cat([self.factors, new], 2)
        )

    def ask(
        self,
        query_BHQD: Tensor,
        key_BHRD: Tensor,
        value_BHRD: Tensor,
        allowed: Tensor | None,
        added: Tensor | None = None,
    ) -> Tensor:
        """Contexts [B, H, Q, D]; zeros where every area is banned.

        allowed: bool, broadcasts to [B, H, Q, R]. added: to the logits, [H, 1, R].
        """
        if self.factors is None and added is None:
            return self.steering.gated(
                F.scaled_dot_product_attention(query_BHQD, key_BHRD, value_BHRD, allowed)
            )
        bias = sum(
            x
            for x in (None if self.factors is None else self.factors.log(), added)
            if x is not None
        )
        assert isinstance(bias, Tensor)
        bias = bias[None].to(query_BHQD.dtype)
        if allowed is not None:
            bias = bias.masked_fill(~allowed, -torch.inf)
        # Not every kernel defines a row without areas, so such a row sees all and is then cleared.
        nothing = (bias == -torch.inf).all(-1, keepdim=True)
        context = F.scaled_dot_product_attention(
            query_BHQD, key_BHRD, value_BHRD, bias.masked_fill(nothing, 0.0)
        )
        return self.steering.gated(context.masked_fill(nothing, 0.0))
