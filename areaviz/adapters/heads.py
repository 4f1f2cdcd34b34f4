"""What one attention layer of another's model did.

Shapes: H heads, Q queries, N memory items, D width of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.mapped import mapped
from areaviz.trace.record import FloatArray

Index = Tensor | slice
_CLOSE = 1e-3
# How far the weights of a model in single precision may be from those that queries and keys give,
# where these stand for them.
_SAME = 2e-6


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

    __slots__ = ("_weights", "bias", "is_on_disk", "key", "query", "rounding", "scale")

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
        # Whether all but the bias lies in temporary files.
        self.is_on_disk = False

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
        picked, bias = list(chosen), self.bias
        # What all heads share stays one.
        if bias is not None and bias.dim() == 3 and len(bias) > 1:
            bias = bias[picked]
        parts = (self._weights, self.query, self.key)
        weights, query, key = (None if part is None else part[picked] for part in parts)
        return Heads(weights, query, key, self.scale, bias, self.rounding)

    def some_items(self, queries: Index, memory: Index) -> Heads:
        """Some queries over some items; weights are divided by what is left of their sum."""
        weights, bias = self._weights, self.bias
        if weights is not None:
            weights = weights[:, queries][..., memory]
            weights = weights / weights.sum(-1, keepdim=True).clamp_min(1e-12)
        if bias is not None:
            bias = bias.expand(*bias.shape[:-2], *self.shape[1:])[..., queries, :][..., memory]
        query = None if self.query is None else self.query[:, queries]
        key = None if self.key is None else self.key[:, memory]
        return Heads(weights, query, key, self.scale, bias, self.rounding).beside(self)

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
        assert self.query is not None and self.key is not None
        # Copies, as they may be parts of a tensor that has the values, too.
        query, key = copied(self.query), copied(self.key)
        return Heads(None, query, key, self.scale, self.bias, self.rounding)

    @property
    def nbytes(self) -> int:
        """Bytes in memory of the heads, but for the bias, which layers may share."""
        parts = () if self.is_on_disk else (self._weights, self.query, self.key)
        return sum(part.nbytes for part in parts if part is not None)

    def with_bias(self, bias: Tensor | None) -> Heads:
        """The same with an equal bias that takes no memory of its own."""
        return Heads(self._weights, self.query, self.key, self.scale, bias, self.rounding)

    def on_disk(self) -> Heads:
        """The same in temporary files, from which it comes into memory when it is read.

        Raises:
            BackendError: the disk has no room for it.
        """
        parts = (self._weights, self.query, self.key)
        weights, query, key = (None if part is None else mapped(part) for part in parts)
        found = Heads(weights, query, key, self.scale, self.bias, self.rounding)
        found.is_on_disk = True
        return found

    def beside(self, others: Heads) -> Heads:
        """The same where `others` lie, of which it was made: in memory or on disk."""
        return self.on_disk() if others.is_on_disk else self

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


def copied(tensor: Tensor) -> Tensor:
    """The same numbers, one after the other in memory of their own."""
    return tensor.clone(memory_format=torch.contiguous_format)


def hidden(mask: Tensor) -> Tensor:
    """A mask as a bias: -inf where it is False, or far below every score as frameworks write it."""
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape).masked_fill(~mask.cpu(), -torch.inf)
    bias = plain(mask)
    return bias.masked_fill(bias < -1e4, -torch.inf)
