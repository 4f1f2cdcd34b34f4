"""A memory as heads see it: keys and values of its areas, projected for every head.

Shapes: B batch, Q queries, M memory items, R areas, W model width, H heads, D width of a head.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.area import area_attention, area_mask, area_pool
from areaviz.attention.boundary import BoundaryKeys
from areaviz.attention.convolution import NeighbourConvolution
from areaviz.attention.features import AreaFeatures
from areaviz.attention.interventions import Steered, Steering
from areaviz.attention.pooling import per_area, pooled_ending
from areaviz.trace.areas import Area, AreaGrid


@dataclass(frozen=True, slots=True)
class AreaOptions:
    """How a layer sees its memory.

    size: most items an area holds; 1 is regular attention. On a grid, the most rows and columns.
    key_mode: "mean" (Eq. 3), "max", "features" (Eq. 9) or "boundary". value_mode: "sum" (Eq. 4),
    "mean" or "max". shape: rows and columns of a memory that is a grid, row by row; None for a
    sequence. convolution: taps over neighbouring keys and values, 1 for none. size_bias: whether
    every head learns a number for each shape of an area, added to its logit. known_size: the
    largest areas that what is learned was learned for; None for `size`. Li et al. 2019.
    """

    size: int | tuple[int, int] = 1
    key_mode: str = "mean"
    value_mode: str = "sum"
    shape: tuple[int, int] | None = None
    convolution: int = 1
    size_bias: bool = False
    known_size: int | tuple[int, int] | None = None

    @property
    def extent(self) -> tuple[int, int]:
        """The most rows and columns an area has."""
        return _extent(self.size)

    @property
    def known_extent(self) -> tuple[int, int]:
        """The most rows and columns that learned keys and biases know."""
        return _extent(self.size if self.known_size is None else self.known_size)

    def grid(self, items: int) -> AreaGrid:
        """The areas of a memory of so many items; they never exceed it."""
        return AreaGrid.clamped(self.shape or (1, items), self.extent)


def _extent(size: int | tuple[int, int]) -> tuple[int, int]:
    return (1, size) if isinstance(size, int) else size


class Remembered(Protocol):
    """What is attended to again and again while a sentence is decoded, of B examples."""

    @property
    def batch(self) -> int:
        """B."""

    def ask(self, query_BHQD: Tensor) -> Tensor:
        """Contexts [B, H, Q, D]."""


@dataclass(frozen=True, slots=True)
class AreaMemory:
    """Keys and values of areas, ready to be asked again and again while a sentence is decoded.

    key, value: [B, H, R, D]. allowed: bool [B, 1, 1, R] or None where every area may be attended.
    bias: added to the logits, [H, 1, R] or None for nothing.
    recent_key, recent_value: what the areas that end at the next item are made from, [B, H, at most
    size, D]: the areas that end at the last one, or, for keys with features, the last items.
    recent_item: of what the convolution of the next item mixes in, keys and values side by side,
    [B, at most taps - 1, 2W]. steered: what is done otherwise, None for nothing.
    """

    key: Tensor
    value: Tensor
    allowed: Tensor | None
    recent_key: Tensor
    recent_value: Tensor
    recent_item: Tensor
    bias: Tensor | None = None
    steered: Steered | None = None

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
        """Contexts [B, H, Q, D] of queries that may attend to every allowed area."""
        if self.steered is not None:
            return self.steered.ask(query_BHQD, self.key, self.value, self.allowed, self.bias)
        mask = self.allowed
        if self.bias is not None:
            bias_1H1R = self.bias[None].to(query_BHQD.dtype)
            mask = bias_1H1R if mask is None else bias_1H1R.masked_fill(~mask, -torch.inf)
        return F.scaled_dot_product_attention(query_BHQD, self.key, self.value, attn_mask=mask)


class KeysAndValues(nn.Module):
    """The projections of one memory, and attention of projected queries to its areas."""

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

    def project(
        self,
        memory_BMW: Tensor,
        padding_BM: Tensor | None = None,
        is_causal: bool = False,
        steering: Steering | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Keys and values of the items as heads see them, [B, H, M, D] each; padding adds nothing
        to neighbours.
        """
        key_BMW, value_BMW = self.key(memory_BMW), self.value(memory_BMW)
        if self.convolution is not None:
            both = torch.cat([key_BMW, value_BMW], -1)
            if padding_BM is not None:
                both = both.masked_fill(padding_BM.unsqueeze(-1), 0.0)
            if steering is not None and steering.hidden:
                both = both.index_fill(1, torch.tensor(steering.hidden, device=both.device), 0.0)
            key_BMW, value_BMW = self.convolution(both, is_causal).chunk(2, -1)
        return self.split(key_BMW), self.split(value_BMW)

    def attend(
        self,
        query_BHQD: Tensor,
        memory_BMW: Tensor,
        key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        steering: Steering | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Contexts [B, H, Q, D] and, when asked for, area weights [B, H, Q, R] of the same pass.

        key_padding_mask: bool [B, M], True where an item is padding. steering: what is done
        otherwise. Areas never exceed the memory.
        """
        grid = self.areas.grid(memory_BMW.shape[1])
        factors = (
            None
            if steering is None
            else steering.factors(grid, query_BHQD.shape[2], query_BHQD.device)
        )
        kept = need_weights or factors is not None  # the C kernel keeps no weights
        attended = area_attention(
            query_BHQD,
            *self.project(memory_BMW, key_padding_mask, is_causal, steering),
            area_size=(grid.max_height, grid.max_width),
            memory_shape=(grid.height, grid.width),
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            key_mode=self.areas.key_mode,
            value_mode=self.areas.value_mode,
            key_features=self.features,
            impl="auto" if kept and self.impl == "fused" else self.impl,
            need_weights=need_weights,
            area_factors=factors,
            size_bias=self._shape_bias(grid),
        )
        context, weights = attended[:2] if isinstance(attended, tuple) else (attended, None)
        return context if steering is None else steering.gated(context), weights

    def remember(
        self,
        memory_BMW: Tensor,
        key_padding_mask: Tensor | None = None,
        steering: Steering | None = None,
    ) -> AreaMemory:
        """Keys and values of every area of a finished memory, pooled once."""
        key_BHMD, value_BHMD = self.project(memory_BMW, key_padding_mask, steering=steering)
        grid = self.areas.grid(memory_BMW.shape[1])
        allowed = (
            None if key_padding_mask is None else area_mask(~key_padding_mask, grid)[:, None, None]
        )
        keys, values = (
            self._area_keys(key_BHMD, grid),
            area_pool(value_BHMD, grid, self.areas.value_mode),
        )
        steered = Steered.over(steering, grid, memory_BMW.device)
        nothing = (key_BHMD[:, :, :0], value_BHMD[:, :, :0], memory_BMW[:, :0])
        bias_HS = self._shape_bias(grid)
        bias = None if bias_HS is None else per_area(bias_HS, grid).unsqueeze(1)
        return AreaMemory(keys, values, allowed, *nothing, bias, steered)

    def extend(
        self, memory: AreaMemory | None, item_B1W: Tensor, steering: Steering | None = None
    ) -> AreaMemory:
        """The sequence with one more item: at most `size` areas end at it, and they need no mask.

        steering: what is done otherwise, read where the sequence begins (`memory` is None).
        """
        key, value, recent_item = self._newest(memory, item_B1W)
        most = self.areas.extent[1]
        before = (
            (key[:, :, :0], value[:, :, :0])
            if memory is None
            else (memory.recent_key, memory.recent_value)
        )
        keys, recent_key = self._keys_ending(before[0], key, most)
        recent_value = pooled_ending(before[1], value, self.areas.value_mode, most)
        values = recent_value.to(value.dtype)
        if memory is not None:
            keys, values = torch.cat([memory.key, keys], 2), torch.cat([memory.value, values], 2)
        steered = Steered.begun(steering) if memory is None else memory.steered
        steered = steered and steered.extended(most, key.device)
        bias = self._longer_bias(memory, recent_value.shape[2])
        return AreaMemory(keys, values, None, recent_key, recent_value, recent_item, bias, steered)

    def _shape_bias(self, grid: AreaGrid) -> Tensor | None:
        """What is added to the logits of the shapes an area of this grid can have: [H, S]; None for
        nothing.
        """
        if self.size_bias is None:
            return None
        return self.size_bias[:, : grid.max_height, : grid.max_width].flatten(1)

    def _longer_bias(self, memory: AreaMemory | None, ending: int) -> Tensor | None:
        """The bias [H, 1, R] of a sequence at whose new item so many areas end, shortest first."""
        if self.size_bias is None:
            return None
        new_H1R = self.size_bias[:, :1, :ending]
        return (
            new_H1R
            if memory is None or memory.bias is None
            else torch.cat([memory.bias, new_H1R], 2)
        )

    def _newest(self, memory: AreaMemory | None, item_B1W: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Key and value [B, H, 1, D] of one item more, and what the convolution of the next one
        mixes in.
        """
        both = torch.cat([self.key(item_B1W), self.value(item_B1W)], -1)
        recent = both[:, :0]
        if self.convolution is not None:
            window = both if memory is None else torch.cat([memory.recent_item, both], 1)
            recent = window[:, max(0, window.shape[1] + 1 - self.convolution.taps) :]
            both = self.convolution(window, is_causal=True)[:, -1:]
        key_B1W, value_B1W = both.chunk(2, -1)
        return self.split(key_B1W), self.split(value_B1W), recent

    def split(self, x_BMW: Tensor) -> Tensor:
        """Vectors as heads see them: [B, H, M, D]."""
        result: Tensor = x_BMW.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return result

    def _area_keys(self, key_BHMD: Tensor, grid: AreaGrid) -> Tensor:
        if self.features is not None:
            keys: Tensor = self.features(key_BHMD, grid)
            return keys
        return area_pool(key_BHMD, grid, self.areas.key_mode)

    def _keys_ending(
        self, before_BHAD: Tensor, key_BH1D: Tensor, most: int
    ) -> tuple[Tensor, Tensor]:
        """Keys of the areas that end at a new item, shortest first, and what those of the next are
        made from.
        """
        if self.features is None:
            keys = pooled_ending(before_BHAD, key_BH1D, self.areas.key_mode, most)
            return keys.to(key_BH1D.dtype), keys
        recent = torch.cat([before_BHAD, key_BH1D], 2)
        grid = self.areas.grid(recent.shape[2])
        ends = [
            grid.index(Area(0, grid.width - width, 1, width))
            for width in range(1, grid.max_width + 1)
        ]
        return self._area_keys(recent, grid)[:, :, ends], recent[
            :, :, max(0, grid.width + 1 - most) :
        ]
