"""What one attention layer of another's model did, and the maps that follow from it.

Shapes: L layers, H heads, Q queries, N memory items, D width of a head, A areas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived import AreasOf, areas_map, sums_map
from areaviz.trace.errors import InputError
from areaviz.trace.limits import MAX_ATTENDED_BYTES, check_map_bytes
from areaviz.trace.query import predicted_bytes
from areaviz.trace.record import AttentionMap, FloatArray

Index = Tensor | slice
_CLOSE = 1e-3
# How far the weights of a model in single precision may be from those that queries and keys give,
# where these stand for them.
_SAME = 2e-6
OVER_ITEMS, IN_HALF = "softmax over items", "softmax over items, kept in half precision"


class Heads:
    """The heads of one layer over one example.

    Args:
        weights: [H, Q, N], rows sum to 1, or to 0 where everything is masked; None where queries
            and keys give them, which they then do whenever they are read.
        query: [H, Q, D], or None where they are not known.
        key: [H, N, D], or None.
        scale: factor on q . k.
        bias: what is added to the scores, broadcasts to [H, Q, N], -inf where an item is masked.
        rounding: the relative error of a number in the coarsest type that the model computed these
            in.
    """

    __slots__ = ("_weights", "bias", "key", "query", "rounding", "scale")

    def __init__(
        self,
        weights: Tensor | None,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float = 1.0,
        bias: Tensor | None = None,
        rounding: float = 0.0,
    ) -> None:
        self._weights, self.query, self.key = weights, query, key
        self.scale, self.bias, self.rounding = scale, bias, rounding

    @property
    def weights(self) -> Tensor:
        """[H, Q, N]; computed anew each time where queries and keys stand for them."""
        if self._weights is not None:
            return self._weights
        return torch.cat([weights_of(scores) for _, scores in self._scores()])

    @property
    def are_given(self) -> bool:
        """Whether queries and keys stand for the weights, which are then finite shares."""
        return self._weights is None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Heads, queries and items."""
        if self._weights is not None:
            heads, queries, items = self._weights.shape
            return heads, queries, items
        assert self.query is not None and self.key is not None
        return self.query.shape[0], self.query.shape[1], self.key.shape[1]

    def some_heads(self, chosen: Sequence[int]) -> Heads:
        """Some of the heads."""
        picked = list(chosen)
        bias = None if self.bias is None else self.bias.expand(self.shape)
        parts = (self._weights, self.query, self.key, bias)
        weights, query, key, bias = (None if part is None else part[picked] for part in parts)
        return Heads(weights, query, key, self.scale, bias, self.rounding)

    def some_items(self, queries: Index, memory: Index) -> Heads:
        """Some queries over some items; weights are divided by what is left of their sum."""
        weights, bias = self._weights, self.bias
        if weights is not None:
            weights = weights[:, queries][..., memory]
            weights = weights / weights.sum(-1, keepdim=True).clamp_min(1e-12)
        if bias is not None:
            bias = bias.expand(self.shape)[:, queries][..., memory]
        query = None if self.query is None else self.query[:, queries]
        key = None if self.key is None else self.key[:, memory]
        return Heads(weights, query, key, self.scale, bias, self.rounding)

    def plain(self) -> Heads:
        """The same as maps are made from it, whatever the model's types and devices."""
        parts = [part for part in (self.weights, self.query, self.key) if part is not None]
        rounding = max(torch.finfo(part.dtype).eps / 2 for part in parts)
        query, key, bias = (
            None if part is None else plain(part) for part in (self.query, self.key, self.bias)
        )
        rounding = max(rounding, self.rounding)
        return Heads(plain(self.weights), query, key, self.scale, bias, rounding)

    def lean(self) -> Heads:
        """The same without weights, where queries and keys give them as they are.

        Of a long text they are what takes the memory.
        """
        weights = self._weights
        if weights is None or not self._has_scores:
            return self
        for head, scores_1QN in self._scores():
            off = (weights_of(scores_1QN)[0] - weights[head]).abs().max()
            if not bool(off <= _SAME):
                return self
        return Heads(None, self.query, self.key, self.scale, self.bias, self.rounding)

    def logs(self) -> FloatArray | None:
        """The logarithms of the weights as their queries and keys give them, if these give them.

        Float16 [H, Q, N], -inf where an item is masked; unlike weights, they also tell apart what
        is too small for a number. None where the weights are not the softmax of queries and keys
        that are known, and nothing else.
        """
        if not self._has_scores:
            return None
        logs_HQN = cast(FloatArray, np.empty(self.shape, np.float16))
        for head, scores_1QN in self._scores():
            if self._weights is not None and not self._given_by(scores_1QN[0], head):
                return None
            masked = (scores_1QN == -torch.inf).all(-1, keepdim=True)
            logs = scores_1QN.log_softmax(-1).masked_fill_(masked, -torch.inf)
            logs_HQN[head] = logs[0].half().numpy()
        return logs_HQN

    @property
    def _has_scores(self) -> bool:
        """Whether queries and keys are there from which scores can be made."""
        if self.query is None or self.key is None:
            return False
        return self.query.shape[-1] == self.key.shape[-1]

    def _scores(self) -> Iterator[tuple[int, Tensor]]:
        """The logits of each head, [1, Q, N]: one after the other, as all of them take much."""
        assert self.query is not None and self.key is not None
        bias = None if self.bias is None else self.bias.expand(self.shape)
        for head in range(self.shape[0]):
            one = slice(head, head + 1)
            added = None if bias is None else bias[one]
            yield head, scores_of(self.query[one], self.key[one], self.scale, added)

    def _given_by(self, scores_QN: Tensor, head: int) -> bool:
        """Whether the weights of a head are the softmax of these scores, but for rounding.

        A model that computes in half precision rounds its scores and its weights; they may be off
        by as much as that explains.
        """
        weights = weights_of(scores_QN)
        off = (weights - self.weights[head]).abs()
        if off.max() < _CLOSE:
            return True
        # A score is rounded three times: the product, its factor and what is added to it.
        rounded = (3 * self.rounding * scores_QN.abs()).masked_fill(scores_QN.isinf(), 0)
        mean = (weights * rounded).sum(-1, keepdim=True)
        allowed = _CLOSE + weights * (rounded + mean + self.rounding)
        return bool((off <= allowed).all())


def scores_of(query: Tensor, key: Tensor, scale: float, bias: Tensor | None) -> Tensor:
    """Logits [H, Q, N], -inf where an item is masked."""
    scores = query @ key.transpose(-1, -2) * scale
    return scores if bias is None else scores + bias


def softmax(query: Tensor, key: Tensor, scale: float, bias: Tensor | None) -> Tensor:
    """Attention weights [H, Q, N] of queries and keys, as `weights_of`."""
    return weights_of(scores_of(query, key, scale, bias))


def weights_of(scores: Tensor) -> Tensor:
    """The softmax of logits [H, Q, N]; a row that is masked as a whole gets 0.

    Whatever else is not a number stays so, and `check_layers` refuses it.
    """
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
    taken: int = 0,
) -> list[AttentionMap]:
    """The map of a site, then the two that follow from it where areas have more than one item.

    The area distribution is left out where the weights do not follow from queries and keys that are
    known. Where there is no room for weights in single precision, their logarithms in half
    precision stand for them.

    Args:
        site: its name.
        query: name of the field that attends.
        memory: name of the field that is attended to.
        shape: rows and columns of the memory; (1, N) for a text.
        layers: what each did.
        area_size: most items of an area, or rows and columns of one.
        taken: bytes that the maps of other sites take.

    Raises:
        InputError: layers differ in their heads or items, a weight is not finite, or the maps would
            take too much memory.
    """
    check_layers(site, layers)
    items, grid = AreaGrid(*shape, 1, 1), AreaGrid.clamped(shape, (area_size, area_size))
    heads, query_count, _ = layers[0].shape
    single = predicted_bytes(len(layers), heads, query_count, items)
    derived = grid != items
    # Of areas a layer is made when it is looked at.
    a_layer = predicted_bytes(1, heads, query_count, grid)
    check_map_bytes(max(taken + single // 2, a_layer), MAX_ATTENDED_BYTES)
    explained_LHQN = _explained(layers) if derived else None
    if explained_LHQN is not None:
        taken += explained_LHQN.nbytes
    if taken + single <= MAX_ATTENDED_BYTES:
        weights_LHQN, summed = _in_single(layers), OVER_ITEMS
    else:
        logs_LHQN = _in_half(layers) if explained_LHQN is None else explained_LHQN
        weights_LHQN, summed = cast(FloatArray, AreasOf(logs_LHQN, items)), IN_HALF
    attended = AttentionMap(site, query, memory, items, weights_LHQN, summed)
    maps = [attended]
    if explained_LHQN is not None:
        maps.append(areas_map(attended, explained_LHQN, (area_size, area_size)))
    if derived:
        maps.append(sums_map(attended, (area_size, area_size)))
    return maps


def _explained(layers: Sequence[Heads]) -> FloatArray | None:
    """The logarithms [L, H, Q, N] of all layers' weights, if queries and keys give them all."""
    logs_LHQN = cast(FloatArray, np.empty((len(layers), *layers[0].shape), np.float16))
    for place, layer in zip(logs_LHQN, layers, strict=True):
        logs_HQN = layer.logs()
        if logs_HQN is None:
            return None
        place[...] = logs_HQN
    return logs_LHQN


def _in_single(layers: Sequence[Heads]) -> FloatArray:
    """The weights [L, H, Q, N] as they are."""
    weights_LHQN = np.empty((len(layers), *layers[0].shape), np.float32)
    for place, layer in zip(weights_LHQN, layers, strict=True):
        place[...] = _shares(layer.weights)
    return weights_LHQN


def _in_half(layers: Sequence[Heads]) -> FloatArray:
    """The logarithms [L, H, Q, N] of the weights as they are, in half precision."""
    logs_LHQN = cast(FloatArray, np.empty((len(layers), *layers[0].shape), np.float16))
    for place, layer in zip(logs_LHQN, layers, strict=True):
        place[...] = torch.from_numpy(_shares(layer.weights)).log().half().numpy()
    return logs_LHQN


def check_layers(site: str, layers: Sequence[Heads]) -> None:
    """Check that layers can stand in one map.

    Raises:
        InputError: their heads, queries or items differ, or weights are no shares.
    """
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        found = ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes))
        raise InputError(
            f'The layers of "{site}" differ in heads x queries x items ({found}) and cannot be'
            " shown together; give the part of the model that you mean."
        )
    # What queries and keys stand for was seen to be finite.
    if not all(layer.are_given or bool(layer.weights.isfinite().all()) for layer in layers):
        raise InputError(
            f'Attention weights of "{site}" are not finite; check the model and its input.'
        )


def _shares(weights_HQN: Tensor) -> FloatArray:
    """Rows divided by their sum again, for models that computed them in half precision."""
    total = weights_HQN.sum(-1, keepdim=True)
    return torch.where(total > 0.5, weights_HQN / total, torch.zeros_like(weights_HQN)).numpy()
