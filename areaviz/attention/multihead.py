"""Multi-head attention to the areas of a memory, the layer of all Transformers in this package.

Shapes: B batch, Q queries, M memory items, R areas, S area shapes, W model width, H heads, D width
of a head.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.attention.area import AreaOptions, area_attention
from areaviz.attention.boundary import BoundaryKeys
from areaviz.attention.features import AreaFeatures, NeighbourConvolution
from areaviz.attention.interventions import LayerInterventions, to_device_async
from areaviz.attention.logits import compute_logit_terms, has_parts
from areaviz.attention.masks import combine_masks, make_area_mask
from areaviz.attention.memory import AreaMemory, CachedMemory
from areaviz.attention.pooling import expand_to_areas, pool_areas, pool_ending_areas
from areaviz.attention.spec import AreaSpec
from areaviz.trace.areas import Area, AreaGrid


class KeysAndValues(nn.Module):
    """The key and value projections of one memory, and attention to its areas."""

    def __init__(self, width: int, heads: int, areas: AreaOptions, impl: str = "auto") -> None:
        super().__init__()
        self.heads, self.areas, self.impl = heads, areas, impl
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        known = areas.known_extent
        self.features: AreaFeatures | BoundaryKeys | None = None
        if areas.key_mode == "features":
            self.features = AreaFeatures(width // heads, known)
        elif areas.key_mode == "boundary":
            self.features = BoundaryKeys(width // heads, known)
        self.size_bias = nn.Parameter(torch.zeros(heads, *known)) if areas.size_bias else None
        taps = areas.convolution
        self.convolution = NeighbourConvolution(2 * width, taps, areas.shape) if taps > 1 else None

    def split_heads(self, x_BMW: Tensor) -> Tensor:
        """Split vectors into heads: [B, M, W] -> [B, H, M, D]."""
        result: Tensor = x_BMW.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return result

    def project_items(
        self,
        memory_BMW: Tensor,
        padding_BM: Tensor | None = None,
        is_causal: bool = False,
        interventions: LayerInterventions | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Compute the keys and values of the items for every head: two of [B, H, M, D].

        Padding and hidden items add nothing to their neighbours.
        """
        key_BMW, value_BMW = self.key(memory_BMW), self.value(memory_BMW)
        if self.convolution is not None:
            both = torch.cat([key_BMW, value_BMW], -1)
            if padding_BM is not None:
                both = both.masked_fill(padding_BM.unsqueeze(-1), 0.0)
            if interventions is not None and interventions.hidden:
                hidden = to_device_async(np.array(interventions.hidden), both.device)
                both = both.index_fill(1, hidden, 0.0)
            key_BMW, value_BMW = self.convolution(both, is_causal).chunk(2, -1)
        return self.split_heads(key_BMW), self.split_heads(value_BMW)

    def attend(
        self,
        query_BHQD: Tensor,
        memory_BMW: Tensor,
        key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        interventions: LayerInterventions | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend to the areas of a memory.

        Args:
            query_BHQD: projected queries.
            memory_BMW: the items. Areas are clamped to their number.
            key_padding_mask: bool [B, M], True where an item is padding.
            is_causal: whether a query may attend only to areas that end at or before it.
            need_weights: whether to return the area weights.
            interventions: changes to this attention, or None.

        Returns:
            Contexts [B, H, Q, D] and, with `need_weights`, the area weights [B, H, Q, R] of this
            pass.
        """
        key_BHMD, value_BHMD = self.project_items(
            memory_BMW, key_padding_mask, is_causal, interventions
        )
        grid = self.areas.make_grid(memory_BMW.shape[1])
        multipliers = None
        if interventions is not None:
            multipliers = interventions.compute_multipliers(
                grid, query_BHQD.shape[2], query_BHQD.device
            )
        spec = AreaSpec(
            grid,
            query_BHQD.shape[-1] ** -0.5,
            combine_masks(query_BHQD, key_BHMD, None, key_padding_mask, is_causal),
            self.areas.key_mode,
            self.features,
            self.areas.value_mode,
            self._get_shape_bias(grid),
            multipliers,
            need_weights=need_weights,
        )
        if interventions is not None and interventions.note and has_parts(spec):
            interventions.note(compute_logit_terms(query_BHQD, key_BHMD, spec))
        context, weights, _ = area_attention(query_BHQD, key_BHMD, value_BHMD, spec, self.impl)
        return context if interventions is None else interventions.apply_gates(context), weights

    def build_memory(
        self,
        memory_BMW: Tensor,
        key_padding_mask: Tensor | None = None,
        interventions: LayerInterventions | None = None,
    ) -> AreaMemory:
        """Compute the keys and values of every area of a finished memory once."""
        key, value = self.project_items(memory_BMW, key_padding_mask, interventions=interventions)
        grid = self.areas.make_grid(memory_BMW.shape[1])
        allowed = bias = multipliers = None
        if key_padding_mask is not None:
            allowed = make_area_mask(~key_padding_mask, grid)[:, None, None]
        bias_HS = self._get_shape_bias(grid)
        if bias_HS is not None:
            bias = expand_to_areas(bias_HS, grid).unsqueeze(1)
        if interventions is not None:
            multipliers = interventions.compute_multipliers(grid, 1, memory_BMW.device)
        keys, values = (
            self._compute_area_keys(key, grid),
            pool_areas(value, grid, self.areas.value_mode),
        )
        # A finished memory does not grow, so its last items are not stored.
        recent = (key[:, :, :0], value[:, :, :0], memory_BMW[:, :0])
        return AreaMemory(keys, values, allowed, *recent, bias, interventions, multipliers)

    def append_item(
        self,
        memory: AreaMemory | None,
        item_B1W: Tensor,
        interventions: LayerInterventions | None = None,
    ) -> AreaMemory:
        """Append one item to a cached sequence.

        At most `size` new areas end at the item, and they need no mask.

        Args:
            memory: the sequence so far. None at its beginning.
            item_B1W: the item.
            interventions: changes to this attention, which are used only at the beginning.
        """
        key, value, recent_item = self._project_newest(memory, item_B1W)
        most = self.areas.extent[1]
        if memory is None:
            nothing = (key[:, :, :0], value[:, :, :0])
            memory = AreaMemory(*nothing, None, *nothing, recent_item, interventions=interventions)
        keys, recent_key = self._compute_ending_keys(memory.recent_key, key, most)
        recent_value = pool_ending_areas(memory.recent_value, value, self.areas.value_mode, most)
        bias, multipliers, items = None, None, memory.items + 1
        if self.size_bias is not None:
            bias = _append_values(memory.bias, self.size_bias[:, :1, : recent_value.shape[2]])
        if memory.interventions is not None and memory.interventions.weighs:
            newest = memory.interventions.compute_ending_multipliers(items, most, key.device)
            multipliers = _append_values(memory.multipliers, newest)
        return AreaMemory(
            torch.cat([memory.key, keys], 2),
            torch.cat([memory.value, recent_value.to(value.dtype)], 2),
            None,
            recent_key,
            recent_value,
            recent_item,
            bias,
            memory.interventions,
            multipliers,
            items,
        )

    def _get_shape_bias(self, grid: AreaGrid) -> Tensor | None:
        """Return the bias on the logits of each area shape, [H, S], or None."""
        if self.size_bias is None:
            return None
        return self.size_bias[:, : grid.max_height, : grid.max_width].flatten(1)

    def _project_newest(
        self, memory: AreaMemory | None, item_B1W: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return key and value [B, H, 1, D] of a new item and the next convolution's inputs."""
        both = torch.cat([self.key(item_B1W), self.value(item_B1W)], -1)
        recent = both[:, :0]
        if self.convolution is not None:
            window = both if memory is None else torch.cat([memory.recent_item, both], 1)
            recent = window[:, max(0, window.shape[1] + 1 - self.convolution.taps) :]
            both = self.convolution(window, is_causal=True)[:, -1:]
        key_B1W, value_B1W = both.chunk(2, -1)
        return self.split_heads(key_B1W), self.split_heads(value_B1W), recent

    def _compute_area_keys(self, key_BHMD: Tensor, grid: AreaGrid) -> Tensor:
        if self.features is None:
            return pool_areas(key_BHMD, grid, self.areas.key_mode)
        keys: Tensor = self.features(key_BHMD, grid)
        return keys

    def _compute_ending_keys(
        self, before_BHAD: Tensor, key_BH1D: Tensor, most: int
    ) -> tuple[Tensor, Tensor]:
        """Return the keys of areas that end at a new item, shortest first, and `recent_key`."""
        if self.features is None:
            keys = pool_ending_areas(before_BHAD, key_BH1D, self.areas.key_mode, most)
            return keys.to(key_BH1D.dtype), keys
        recent = torch.cat([before_BHAD, key_BH1D], 2)
        grid = self.areas.make_grid(recent.shape[2])
        keys, ends = self._compute_area_keys(recent, grid), []
        for width in range(1, grid.max_width + 1):
            # A slice is used because a GPU would have to wait for a list of indices.
            last = grid.index(Area(0, grid.width - width, 1, width))
            ends.append(keys[:, :, last : last + 1])
        return torch.cat(ends, 2), recent[:, :, max(0, grid.width + 1 - most) :]


class MultiHeadAttention(KeysAndValues):
    """Projections, area attention for every head, and the output (Vaswani et al. 2017, 3.2.2)."""

    def __init__(self, width: int, heads: int, areas: AreaOptions, impl: str = "auto") -> None:
        super().__init__(width, heads, areas, impl)
        self.query = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(
        self,
        query_BQW: Tensor,
        memory_BMW: Tensor,
        key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        interventions: LayerInterventions | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the context [B, Q, W] and, if requested, weights [B, H, Q, R], see `attend`."""
        query_BHQD = self.split_heads(self.query(query_BQW))
        context_BHQD, weights = self.attend(
            query_BHQD, memory_BMW, key_padding_mask, is_causal, need_weights, interventions
        )
        return self.merge_heads(context_BHQD), weights

    def attend_to_memory(self, query_BQW: Tensor, memory: CachedMemory) -> Tensor:
        """Return the context [B, Q, W] of queries that may attend to every allowed area."""
        return self.merge_heads(memory.attend(self.split_heads(self.query(query_BQW))))

    def merge_heads(self, x_BHQD: Tensor) -> Tensor:
        """Concatenate the heads and apply the output projection: [B, H, Q, D] -> [B, Q, W]."""
        out: Tensor = self.out(x_BHQD.transpose(1, 2).flatten(2))
        return out


def _append_values(before: Tensor | None, newest: Tensor) -> Tensor:
    """Append the values of the newest areas to the values [H, 1, R] of the areas so far."""
    return newest if before is None else torch.cat([before, newest], 2)
