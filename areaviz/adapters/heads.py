"""What one attention layer of another's model did, and the maps that follow from it.

Shapes: L layers, H heads, Q queries, N memory items, D width of a head, A areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from areaviz.attention.area import area_attention
from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived import AS_AREAS, FROM_KEYS, sums_map
from areaviz.trace.errors import InputError
from areaviz.trace.limits import check_map_bytes
from areaviz.trace.query import predicted_bytes
from areaviz.trace.record import AttentionMap, FloatArray

_CLOSE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """The heads of one layer over one example."""

    # [H, Q, N], rows sum to 1, or to 0 where everything is masked.
    weights: Tensor
    # [H, Q, D] and [H, N, D], or None where they are not known.
    query: Tensor | None = None
    key: Tensor | None = None
    # Factor on q . k.
    scale: float = 1.0
    # What is added to the scores, broadcasts to [H, Q, N], -inf where an item is masked.
    bias: Tensor | None = None

    def cut(self, queries: slice, memory: slice) -> Heads:
        """Some queries over some items; weights are divided by what is left of their sum."""
        left = self.weights[:, queries, memory]
        bias = self.bias
        if bias is not None:
            bias = bias.expand(self.weights.shape)[:, queries, memory]
        return Heads(
            left / left.sum(-1, keepdim=True).clamp_min(1e-12),
            None if self.query is None else self.query[:, queries],
            None if self.key is None else self.key[:, memory],
            self.scale,
            bias,
        )

    def plain(self) -> Heads:
        """The same as maps are made from it, whatever the model's types and devices."""
        parts = (
            None if part is None else plain(part) for part in (self.query, self.key, self.bias)
        )
        query, key, bias = parts
        return Heads(plain(self.weights), query, key, self.scale, bias)

    def explained(self) -> bool:
        """Whether the weights are the softmax of these queries and keys, and nothing else."""
        if self.query is None or self.key is None or self.query.shape[-1] != self.key.shape[-1]:
            return False
        again = softmax(self.query, self.key, self.scale, self.bias)
        return bool((again - self.weights).abs().max() < _CLOSE)

    def as_areas(self, grid: AreaGrid) -> FloatArray:
        """Area attention of the same queries and keys: float32 [H, Q, A].

        softmax over areas of scale * q . mean key + mean bias (Eq. 3, Li et al. 2019); an area with
        a masked item gets 0. There are no parameters, so this is what the head would attend to if
        its memory were areas.
        """
        assert self.query is not None and self.key is not None
        attended = area_attention(
            self.query,
            self.key,
            # Only the weights are looked at, so the values may be anything.
            self.key[..., :1],
            area_size=(grid.max_height, grid.max_width),
            memory_shape=(grid.height, grid.width),
            attn_mask=self.bias,
            scale=self.scale,
            need_weights=True,
        )
        assert attended.weights is not None
        return attended.weights.numpy()


def softmax(query: Tensor, key: Tensor, scale: float, bias: Tensor | None) -> Tensor:
    """Attention weights [H, Q, N]; a row that is masked as a whole gets 0.

    Whatever else is not a number stays so, and `check_layers` refuses it.
    """
    scores = query @ key.transpose(-1, -2) * scale
    if bias is not None:
        scores = scores + bias
    masked = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(masked, 0)


def plain(tensor: Tensor) -> Tensor:
    """A tensor of a model as the maps are made from it: float32, on the CPU, without a graph."""
    return tensor.detach().float().cpu()


def hidden(mask: Tensor) -> Tensor:
    """A mask as a bias: -inf where it is False, or far below every score as frameworks write it."""
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape).masked_fill(~mask.cpu(), -torch.inf)
    bias = plain(mask)
    return bias.masked_fill(bias < -1e4, -torch.inf)


def site_maps(
    site: str,
    query: str,
    memory: str,
    shape: tuple[int, int],
    layers: Sequence[Heads],
    area_size: int,
) -> list[AttentionMap]:
    """The map of a site, then the two that follow from it where areas have more than one item.

    The area distribution is left out where the weights do not follow from queries and keys that are
    known.

    Args:
        site: its name.
        query: name of the field that attends.
        memory: name of the field that is attended to.
        shape: rows and columns of the memory; (1, N) for a text.
        layers: what each did.
        area_size: most items of an area, or rows and columns of one.

    Raises:
        InputError: layers differ in their heads or items, a weight is not finite, or the maps would
            take too much memory.
    """
    check_layers(site, layers)
    grid = AreaGrid.clamped(shape, (area_size, area_size))
    items = AreaGrid(*shape, 1, 1)
    derived = grid != items
    heads, query_count, _ = layers[0].weights.shape
    size = predicted_bytes(len(layers), heads, query_count, items)
    check_map_bytes(size + derived * 2 * predicted_bytes(len(layers), heads, query_count, grid))
    weights_LHQN = np.stack([_shares(layer.weights) for layer in layers])
    attended = AttentionMap(site, query, memory, items, weights_LHQN, "softmax over items")
    maps = [attended]
    if derived and all(layer.explained() for layer in layers):
        areas_LHQA = np.stack([layer.as_areas(grid) for layer in layers])
        maps.append(
            AttentionMap(site + AS_AREAS, query, memory, grid, areas_LHQA, derived=FROM_KEYS)
        )
    if derived:
        maps.append(sums_map(attended, (area_size, area_size)))
    return maps


def check_layers(site: str, layers: Sequence[Heads]) -> None:
    """Check that layers can stand in one map.

    Raises:
        InputError: their heads, queries or items differ, or weights are no shares.
    """
    shapes = {tuple(layer.weights.shape) for layer in layers}
    if len(shapes) > 1:
        found = ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes))
        raise InputError(
            f'The layers of "{site}" differ in heads x queries x items ({found}) and cannot be'
            " shown together; give the part of the model that you mean."
        )
    if not all(bool(layer.weights.isfinite().all()) for layer in layers):
        raise InputError(
            f'Attention weights of "{site}" are not finite; check the model and its input.'
        )


def _shares(weights_HQN: Tensor) -> FloatArray:
    """Rows divided by their sum again, for models that computed them in half precision."""
    total = weights_HQN.sum(-1, keepdim=True)
    return torch.where(total > 0.5, weights_HQN / total, torch.zeros_like(weights_HQN)).numpy()
