"""The heads of one attention layer of an external model.

Shapes: H heads, Q queries, N memory items, D width of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.memory_mapping import map_to_file
from areaviz.trace.areas import FloatArray

Index = Tensor | slice
_CLOSE = 1e-3
# Maximum difference between the weights of a model in single precision and the weights that its
# queries and keys give, if queries and keys replace the weights.
_SAME = 2e-6


class Heads:
    """The heads of one layer over one example.

    Args:
        weights: [H, Q, N]. Rows sum to 1, or to 0 if everything is masked. None computes them from
            queries and keys whenever they are read.
        query: [H, Q, D], or None if unknown.
        key: [H, N, D], or None if unknown.
        scale: Factor on q . k.
        bias: Added to the scores. Broadcasts to [H, Q, N], -inf where an item is masked.
        rounding: Relative rounding error of the coarsest type in which the model computed these
            values.
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
        # True if everything except the bias is in temporary files.
        self.is_on_disk = False

    @property
    def weights(self) -> Tensor:
        """Attention weights [H, Q, N]. They are computed on each access if they are not stored."""
        if self._weights is not None:
            return self._weights
        return torch.cat([compute_weights(scores) for _, scores in self._scores()])

    @property
    def are_given(self) -> bool:
        """True if the weights are not stored, because queries and keys determine them."""
        return self._weights is None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of heads, queries and items."""
        if self._weights is not None:
            heads, queries, items = self._weights.shape
            return heads, queries, items
        assert self.query is not None and self.key is not None
        return self.query.shape[0], self.query.shape[1], self.key.shape[1]

    def select_heads(self, chosen: Sequence[int]) -> Heads:
        """Return some of the heads."""
        picked, bias = list(chosen), self.bias
        # A bias that all heads share is kept unchanged.
        if bias is not None and bias.dim() == 3 and len(bias) > 1:
            bias = bias[picked]
        parts = (self._weights, self.query, self.key)
        weights, query, key = (None if part is None else part[picked] for part in parts)
        return Heads(weights, query, key, self.scale, bias, self.rounding)

    def select_items(self, queries: Index, memory: Index) -> Heads:
        """Return some queries over some items. Remaining weights are divided by their sum."""
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
        """Return the heads as float32 on the CPU, whatever the model's types and devices."""
        parts = [part for part in (self.weights, self.query, self.key) if part is not None]
        rounding = max(torch.finfo(part.dtype).eps / 2 for part in parts)
        query, key, bias = (
            None if part is None else to_map_tensor(part)
            for part in (self.query, self.key, self.bias)
        )
        rounding = max(rounding, self.rounding)
        return Heads(to_map_tensor(self.weights), query, key, self.scale, bias, rounding)

    def lean(self) -> Heads:
        """Return the heads without stored weights if queries and keys determine them.

        For a long text, the weights take most of the memory.
        """
        weights = self._weights
        if weights is None or not self._has_scores:
            return self
        for head, scores_1QN in self._scores():
            off = (compute_weights(scores_1QN)[0] - weights[head]).abs().max()
            if not bool(off <= _SAME):
                return self
        assert self.query is not None and self.key is not None
        # They are copied, because they may be views of a larger tensor that also has the values.
        query, key = copy_tensor(self.query), copy_tensor(self.key)
        return Heads(None, query, key, self.scale, self.bias, self.rounding)

    @property
    def nbytes(self) -> int:
        """The bytes in memory of the heads without the bias, which several layers may share."""
        parts = () if self.is_on_disk else (self._weights, self.query, self.key)
        return sum(part.nbytes for part in parts if part is not None)

    def with_bias(self, bias: Tensor | None) -> Heads:
        """Return the heads with an equal bias that takes no extra memory."""
        return Heads(self._weights, self.query, self.key, self.scale, bias, self.rounding)

    def on_disk(self) -> Heads:
        """Return the heads in temporary files, from which they are loaded when they are read.

        Raises:
            BackendError: The disk has no room for them.
        """
        parts = (self._weights, self.query, self.key)
        weights, query, key = (None if part is None else map_to_file(part) for part in parts)
        found = Heads(weights, query, key, self.scale, self.bias, self.rounding)
        found.is_on_disk = True
        return found

    def beside(self, others: Heads) -> Heads:
        """Return the heads on disk if `others` is on disk, otherwise unchanged."""
        return self.on_disk() if others.is_on_disk else self

    def logs(self) -> FloatArray | None:
        """Return the logarithms of the weights, computed from queries and keys if possible.

        Returns:
            Float16 [H, Q, N], -inf where an item is masked. Unlike weights, logarithms also
            distinguish values that are too small for a float. None if the weights are not exactly
            the softmax of known queries and keys.
        """
        if not self._has_scores:
            return None
        logs_HQN = cast(FloatArray, np.empty(self.shape, np.float16))
        for head, scores_1QN in self._scores():
            if self._weights is not None and not self._is_given_by(scores_1QN[0], head):
                return None
            masked = (scores_1QN == -torch.inf).all(-1, keepdim=True)
            logs = scores_1QN.log_softmax(-1).masked_fill_(masked, -torch.inf)
            logs_HQN[head] = logs[0].half().numpy()
        return logs_HQN

    @property
    def _has_scores(self) -> bool:
        """True if scores can be computed from queries and keys."""
        if self.query is None or self.key is None:
            return False
        return self.query.shape[-1] == self.key.shape[-1]

    def _scores(self) -> Iterator[tuple[int, Tensor]]:
        """Yield the logits [1, Q, N] of one head at a time, which saves memory."""
        assert self.query is not None and self.key is not None
        bias = None if self.bias is None else self.bias.expand(self.shape)
        for head in range(self.shape[0]):
            one = slice(head, head + 1)
            added = None if bias is None else bias[one]
            yield head, compute_scores(self.query[one], self.key[one], self.scale, added)

    def _is_given_by(self, scores_QN: Tensor, head: int) -> bool:
        """Return whether a head's weights are the softmax of these scores, except for rounding.

        A model that computes in half precision rounds its scores and its weights. The weights may
        differ by as much as this rounding explains.
        """
        weights = compute_weights(scores_QN)
        off = (weights - self.weights[head]).abs()
        if off.max() < _CLOSE:
            return True
        # A score is rounded three times: as a product, after the factor and after the bias.
        rounded = (3 * self.rounding * scores_QN.abs()).masked_fill(scores_QN.isinf(), 0)
        mean = (weights * rounded).sum(-1, keepdim=True)
        allowed = _CLOSE + weights * (rounded + mean + self.rounding)
        return bool((off <= allowed).all())


def compute_scores(query: Tensor, key: Tensor, scale: float, bias: Tensor | None) -> Tensor:
    """Return the logits [H, Q, N], -inf where an item is masked."""
    scores = query @ key.transpose(-1, -2) * scale
    return scores if bias is None else scores + bias


def compute_softmax_weights(
    query: Tensor, key: Tensor, scale: float, bias: Tensor | None
) -> Tensor:
    """Return the attention weights [H, Q, N] of queries and keys, see `compute_weights`."""
    return compute_weights(compute_scores(query, key, scale, bias))


def compute_weights(scores: Tensor) -> Tensor:
    """Return the softmax of logits [H, Q, N]. A fully masked row gets 0.

    Other values that are not numbers are kept, and `check_layers` refuses them.
    """
    masked = (scores == -torch.inf).all(-1, keepdim=True)
    return scores.softmax(-1).masked_fill(masked, 0)


def to_map_tensor(tensor: Tensor) -> Tensor:
    """Return a tensor in the form for maps: float32, on the CPU, without a graph."""
    return tensor.detach().float().cpu()


def copy_tensor(tensor: Tensor) -> Tensor:
    """Return a contiguous copy of a tensor."""
    return tensor.clone(memory_format=torch.contiguous_format)


def mask_to_bias(mask: Tensor) -> Tensor:
    """Return a mask as a bias, which is -inf for hidden items.

    Frameworks write masks as booleans (False hides an item) or as large negative numbers.
    """
    if mask.dtype == torch.bool:
        return torch.zeros(mask.shape).masked_fill(~mask.cpu(), -torch.inf)
    bias = to_map_tensor(mask)
    return bias.masked_fill(bias < -1e4, -torch.inf)
