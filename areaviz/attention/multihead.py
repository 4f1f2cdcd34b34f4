"""Multi-head attention to areas: logit terms, caches, the layer, and two memories at once.

Read `MultiHeadAttention` first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.area import AreaOptions, area_attention
from areaviz.attention.interventions import LayerInterventions, to_device_async
from areaviz.attention.keys import (
    AreaFeatures,
    BoundaryKeys,
    NeighbourConvolution,
    expand_to_areas,
    pool_areas,
    pool_ending_areas,
)
from areaviz.attention.pooled import AreaSpec, combine_masks, make_area_mask
from areaviz.trace.areas import Area, AreaGrid, FloatArray
from areaviz.trace.derived import Logits

# The terms of the logits of area attention, which explain why a weight has its value.
#
# Shapes: H heads, Q queries, M items, S area shapes, D width of a head.


def has_parts(spec: AreaSpec) -> bool:
    """Return whether the logits are sums of terms per item and per shape.

    This is not the case for max keys and for the keys of Eq. 9, which combine all items of an area.
    """
    grid = spec.grid
    return spec.key_mode in ("mean", "boundary") or grid.max_height * grid.max_width == 1


def compute_logit_terms(query_1HQD: Tensor, key_1HMD: Tensor, spec: AreaSpec) -> Logits:
    """Compute the terms of the logits that `area_attention` computes for one example.

    The products are in double precision and rounded once. They are therefore closer to the exact
    logits than the weights are, which are the result of many roundings.
    """
    query_HQD = query_1HQD[0].double() * spec.scale

    def compute_products(key_HMD: Tensor) -> FloatArray:
        return _convert_to_numpy(query_HQD @ key_HMD.double().transpose(-1, -2))

    allowed = spec.mask.find_allowed_items(query_1HQD.shape[2], key_1HMD.shape[2], key_1HMD.device)
    item_HQM = compute_products(key_1HMD[0])
    if allowed is not None:
        seen = allowed.expand(query_1HQD.shape[:3] + key_1HMD.shape[2:3])[0]
        item_HQM[~seen.cpu().numpy()] = -float("inf")
    size_H1S = None if spec.size_bias is None else _convert_to_numpy(spec.size_bias[:, None])
    if not isinstance(spec.features, BoundaryKeys):
        return Logits(spec.grid, item_HQM, size=size_H1S)
    first, last = (compute_products(edge[0]) for edge in spec.features.compute_edge_keys(key_1HMD))
    shape_HQS = compute_products(
        spec.features.embed_shapes(spec.grid).expand(len(query_HQD), -1, -1)
    )
    return Logits(spec.grid, item_HQM, first, last, shape_HQS, size_H1S)


def _convert_to_numpy(values: Tensor) -> FloatArray:
    found: FloatArray = values.detach().float().cpu().numpy()
    return found


# Caches of a memory that a decoder attends to at every step.
#
# Shapes: B batch, H heads, Q queries, R areas, W model width, D width of a head.


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


# Multi-head attention to the areas of a memory, the layer of all Transformers in this package.
#
# Shapes: B batch, Q queries, M memory items, R areas, S area shapes, W model width, H heads, D
# width of a head.


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


# Attention to a text and a picture at once, with added contexts (Arslan et al. 2018, Eq. 5-8).
#
#     head = softmax(Q K_t^T / sqrt(D)) V_t + softmax(Q K_v^T / sqrt(D)) V_v
#
# Queries and the output projection are shared. Each memory has its own keys and values. A missing
# memory adds nothing: without a picture this is multi-head attention to the text, and without a
# text it is multi-head attention to the picture.
#
# Shapes: B batch, Q queries, M text items, P cells, R areas, W model width, H heads, D width of a
# head.


@dataclass(frozen=True, slots=True)
class Memories:
    """A text and a picture. One of them may be missing."""

    # [B, M, W]
    text: Tensor | None
    # bool [B, M], True where an item of the text is padding. None if there is no padding.
    padding: Tensor | None = None
    # [B, P, W]
    picture: Tensor | None = None


@dataclass(frozen=True, slots=True)
class TwoInterventions:
    """The changes to the attention to the text and to the picture, or None for no change."""

    text: LayerInterventions | None = None
    picture: LayerInterventions | None = None


NO_INTERVENTIONS = TwoInterventions()


@dataclass(frozen=True, slots=True)
class TwoAreaMemories:
    """The cached memories that are present, which a decoder attends to at every step."""

    present: tuple[AreaMemory, ...]

    @property
    def batch(self) -> int:
        """The number of examples."""
        return self.present[0].batch

    def attend(self, query_BHQD: Tensor) -> Tensor:
        """Return the sum of the contexts [B, H, Q, D] from all memories."""
        return torch.stack([memory.attend(query_BHQD) for memory in self.present]).sum(0)


@dataclass(frozen=True, slots=True)
class Share:
    """The contribution of one memory."""

    # Area weights [B, H, Q, R].
    weights: Tensor
    # The norm of each head's context [B, H, Q].
    strength: Tensor


class DoublyAttention(MultiHeadAttention):
    """Attention to a text and a picture, with separate keys and values for each.

    `key` and `value` belong to the text and have the names that they have in a model without
    pictures. A checkpoint of a text-only model therefore fits the text's part. `picture` has its
    own keys and values.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        text_areas: AreaOptions,
        picture_areas: AreaOptions,
        impl: str = "auto",
    ) -> None:
        super().__init__(width, heads, text_areas, impl)
        self.picture = KeysAndValues(width, heads, picture_areas, impl)

    def attend_both(
        self,
        query_BQW: Tensor,
        memories: Memories,
        need_weights: bool = False,
        interventions: TwoInterventions = NO_INTERVENTIONS,
    ) -> tuple[Tensor, dict[str, Share]]:
        """Attend to both memories.

        Returns:
            The context [B, Q, W] and, with `need_weights`, the contributions of "text" and
            "picture".
        """
        query_BHQD = self.split_heads(self.query(query_BQW))
        contexts, shares = [], {}
        if memories.text is not None:
            context, weights = self.attend(
                query_BHQD,
                memories.text,
                memories.padding,
                need_weights=need_weights,
                interventions=interventions.text,
            )
            contexts.append(context)
            if weights is not None:
                shares["text"] = Share(weights, context.norm(dim=-1))
        if memories.picture is not None:
            context, weights = self.picture.attend(
                query_BHQD,
                memories.picture,
                need_weights=need_weights,
                interventions=interventions.picture,
            )
            contexts.append(context)
            if weights is not None:
                shares["picture"] = Share(weights, context.norm(dim=-1))
        return self.merge_heads(torch.stack(contexts).sum(0)), shares

    def build_memories(
        self, memories: Memories, interventions: TwoInterventions = NO_INTERVENTIONS
    ) -> TwoAreaMemories:
        """Pool the keys and values of both memories once."""
        present = []
        if memories.text is not None:
            present.append(self.build_memory(memories.text, memories.padding, interventions.text))
        if memories.picture is not None:
            picture = self.picture.build_memory(
                memories.picture, interventions=interventions.picture
            )
            present.append(picture)
        return TwoAreaMemories(tuple(present))
