"""Interventions on attention, which reweight areas and gate heads.

The interventions themselves are defined in `areaviz.trace.changes`. Shapes: B batch, H heads,
Q queries, R areas, D width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from areaviz.trace.areas import AreaGrid
from areaviz.trace.changes import (
    Change,
    Gate,
    Hide,
    Share,
    Weigh,
    check_product,
    compute_area_factors,
    list_changes_by_site,
)
from areaviz.trace.derived import Logits


def to_device_async(values: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Copy numbers from the host to a device without waiting for the copy where that is safe.

    CUDA has read the host's array when the call returns. MPS may still be reading it, so the copy
    waits there.
    """
    return torch.from_numpy(values).to(device, non_blocking=device.type != "mps")


Note = Callable[[Logits], None]


@dataclass(frozen=True, slots=True)
class LogitRecorder:
    """A callback for the logit terms of one layer of a site."""

    site: str
    # Layer, counted from 0.
    layer: int
    note: Note


@dataclass(frozen=True, slots=True)
class LayerInterventions:
    """The changes to one layer's attention to one memory, and a callback for its logit terms."""

    heads: int
    weighs: tuple[Weigh, ...] = ()
    gates: tuple[Gate, ...] = ()
    # Items of the memory that count as padding: `weighs` bans their areas, and the convolution must
    # not mix them into their neighbours.
    hidden: tuple[int, ...] = ()
    # Called with the terms of the logits.
    note: Note | None = None

    def compute_multipliers(
        self, grid: AreaGrid, queries: int, device: torch.device
    ) -> Tensor | None:
        """Return the factors on the area weights, [H, Q or 1, R], or None if all weights stay."""
        if not self.weighs:
            return None
        factors_HQR = compute_area_factors(
            self.weighs, grid.table(), grid.width, self.heads, queries
        )
        return to_device_async(factors_HQR, device)

    def compute_ending_multipliers(self, items: int, most: int, device: torch.device) -> Tensor:
        """Return the factors for the spans that end at the last item, shortest first: [H, 1, R]."""
        widths = np.arange(1, min(most, items) + 1)
        ones = np.ones_like(widths)
        table_R4 = np.stack([0 * ones, items - widths, ones, widths], 1)
        factors_H1R = compute_area_factors(self.weighs, table_R4, items, self.heads, 1)
        return to_device_async(factors_H1R, device)

    def apply_gates(self, context_BHQD: Tensor) -> Tensor:
        """Multiply the contexts of the heads by the factors of their gates.

        Raises:
            InputError: if the factors of one head are too large together.
        """
        if not self.gates:
            return context_BHQD
        # The factors are multiplied on the host: a request may have 1,024 gates, and this runs at
        # every step.
        factors = [1.0] * self.heads
        for gate in self.gates:
            for head in range(self.heads) if gate.head is None else (gate.head,):
                factors[head] *= gate.factor
        check_product(max(factors))
        factor_H11 = to_device_async(
            np.array(factors, np.float32)[:, None, None], context_BHQD.device
        )
        return context_BHQD * factor_H11.to(context_BHQD.dtype)


@dataclass(frozen=True, slots=True)
class NetworkInterventions:
    """All changes to a network's attention. The default changes nothing."""

    changes: tuple[Weigh | Gate, ...] = ()
    heads: int = 1
    hides: tuple[Hide, ...] = ()
    # Pairs of a site and the field that it attends to.
    memories: tuple[tuple[str, str], ...] = ()
    shares: tuple[Share, ...] = ()
    noting: LogitRecorder | None = None

    @classmethod
    def from_changes(
        cls, changes: Sequence[Change], sites: Mapping[str, tuple[str, str]], heads: int
    ) -> Self:
        """Collect the changes of a request.

        Args:
            changes: the changes that the request names.
            sites: for each site, the field that attends and the field that is attended to.
            heads: number of heads of each layer.
        """
        memories = tuple((site, memory) for site, (_, memory) in sites.items())
        hides = tuple(one for one in changes if isinstance(one, Hide))
        shares = tuple(one for one in changes if isinstance(one, Share))
        return cls(tuple(list_changes_by_site(changes, sites)), heads, hides, memories, shares)

    def get_share(self, site: str) -> Share:
        """Return how scores become weights at a site, by its last change or by default."""
        return next((one for one in reversed(self.shares) if one.site == site), Share(site))

    def list_hidden(self, field: str) -> list[int]:
        """Return the hidden items of an input, for network parts that read it without attention."""
        items: set[int] = set()
        for hide in self.hides:
            if hide.field == field:
                items.update(hide.items)
        return sorted(items)

    def get_layer_changes(self, site: str, layer: int) -> LayerInterventions | None:
        """Return the changes to one layer (0-based) of a site, or None."""
        weighs, gates = [], []
        for change in self.changes:
            if change.site == site and change.layer in (None, layer):
                if isinstance(change, Weigh):
                    weighs.append(change)
                else:
                    gates.append(change)
        noting = self.noting
        is_noted = noting is not None and (noting.site, noting.layer) == (site, layer)
        note = noting.note if noting is not None and is_noted else None
        if not weighs and not gates and note is None:
            return None
        memory = dict(self.memories).get(site)
        hidden = tuple(self.list_hidden(memory)) if memory else ()
        return LayerInterventions(self.heads, tuple(weighs), tuple(gates), hidden, note)


UNCHANGED = NetworkInterventions()
