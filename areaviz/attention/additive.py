"""Additive attention (Bahdanau et al. 2015), and its location-aware form for speech."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import LayerInterventions
from areaviz.trace.areas import AreaGrid
from areaviz.trace.changes import Share

# Additive attention (Bahdanau et al. 2015), in which a small network scores items for a query.
#
#     score(q, m) = v . tanh(W q + U m),   weights = softmax of the scores,   context = sum of w m
#
# Unlike a dot product, these scores do not split into a part of the item and a part of the query.
# An area's score is therefore not the mean of its items' scores, so this attention has areas of one
# item only. Shapes: B examples, K queries of an example at one time step, T time steps, M items, W
# query width, C item width, D width of the scores' hidden layer.


@dataclass(frozen=True, slots=True)
class ItemMemory:
    """The items of a memory with the parts of their scores that do not depend on the query.

    A decoder computes them once and attends to them at every step.

    Args:
        value: the items, [B, M, C].
        key: the items' part of the scores, [B, M, D]. None if the scores do not depend on them.
        readable: bool, whether an item may be attended to, [B, M]. None if every item may be
            attended to.
        factors: factors on the weights, [T or 1, M]. None for no factors.
        gate: factor on the context.
    """

    value: Tensor
    key: Tensor | None
    readable: Tensor | None = None
    factors: Tensor | None = None
    gate: float = 1.0

    @classmethod
    def with_changes(
        cls,
        value: Tensor,
        key: Tensor | None,
        readable: Tensor | None = None,
        interventions: LayerInterventions | None = None,
        times: int = 1,
        grid: AreaGrid | None = None,
    ) -> Self:
        """Return a memory with the changes to the attention for `times` steps.

        Args:
            value: the items, [B, M, C].
            key: the items' part of the scores or None, see the class.
            readable: whether an item may be attended to or None, see the class.
            interventions: changes to this attention, or None.
            times: number of queries per example, one per time step.
            grid: the areas of one item. None if the items are a sequence.
        """
        if interventions is None:
            return cls(value, key, readable)
        areas = AreaGrid(1, value.shape[1], 1, 1) if grid is None else grid
        factors_1TM = interventions.compute_multipliers(areas, times, value.device)
        factors_TM = None if factors_1TM is None else factors_1TM[0].to(value.dtype)
        gate = float(interventions.apply_gates(torch.ones(1, 1, 1)))
        return cls(value, key, readable, factors_TM, gate)

    def get_factors(self, time: int) -> Tensor | None:
        """Return the factors of one step, [M]. The last stored step applies to all later steps."""
        return None if self.factors is None else self.factors[min(time, len(self.factors) - 1)]

    def compute_weights(self, score_BKM: Tensor, time: int = 0) -> Tensor:
        """Return the softmax of the scores of one step times its factors, [B, K, M].

        The weights are zeros for a query that may attend to no item.
        """
        factors_M = self.get_factors(time)
        if self.readable is None and factors_M is None:
            return score_BKM.softmax(2)
        bias_B1M = (
            score_BKM.new_zeros(1, 1, 1) if factors_M is None else factors_M.log()[None, None]
        )
        if self.readable is not None:
            bias_B1M = torch.where(self.readable[:, None], bias_B1M, -torch.inf)
        nothing_B11 = (bias_B1M == -torch.inf).all(2, keepdim=True)
        biased_BKM = (score_BKM + bias_B1M).masked_fill(nothing_B11, 0.0)
        return biased_BKM.softmax(2).masked_fill(nothing_B11, 0.0)

    def apply_gate(self, context: Tensor) -> Tensor:
        """Return a context times the gate."""
        return context if self.gate == 1.0 else context * self.gate


def compute_additive_scores(
    query: nn.Linear, score: nn.Linear, query_BKW: Tensor, memory: ItemMemory
) -> Tensor:
    """Return the scores [B, K, M] of all items, v . tanh(W q + U m).

    Args:
        query: W.
        score: v.
        query_BKW: the queries.
        memory: the memory, whose keys are U m.
    """
    assert memory.key is not None
    hidden_BKMD = torch.tanh(memory.key[:, None] + query(query_BKW).unsqueeze(2))
    scores_BKM: Tensor = score(hidden_BKMD).squeeze(3)
    return scores_BKM


class AdditiveAttention(nn.Module):
    """Additive attention with the parameters W, U and v of the score.

    Args:
        query_width: W.
        item_width: C.
        hidden: D.
    """

    def __init__(self, query_width: int, item_width: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden)
        self.key = nn.Linear(item_width, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)

    def build_memory(
        self,
        items_BMC: Tensor,
        padding_BM: Tensor | None = None,
        interventions: LayerInterventions | None = None,
        times: int = 1,
    ) -> ItemMemory:
        """Compute the parts of the scores that do not depend on the query.

        Args:
            items_BMC: the items.
            padding_BM: bool, True where an item is padding. None if there is no padding.
            interventions: changes to this attention, or None.
            times: number of queries per example, one per time step.
        """
        readable_BM = None if padding_BM is None else ~padding_BM
        return ItemMemory.with_changes(
            items_BMC, self.key(items_BMC), readable_BM, interventions, times
        )

    def attend_to_memory(
        self, query_BKW: Tensor, memory: ItemMemory, time: int = 0
    ) -> tuple[Tensor, Tensor]:
        """Attend with the queries of one time step.

        Returns:
            Contexts [B, K, C] and weights [B, K, M]. Both are zeros for a query that may attend to
            no item.
        """
        score_BKM = compute_additive_scores(self.query, self.score, query_BKW, memory)
        weights_BKM = memory.compute_weights(score_BKM, time)
        return memory.apply_gate(weights_BKM @ memory.value), weights_BKM


# Location-aware attention (Chorowski et al. 2015; multimedia paper Eq. 21).
#
# The weights of the previous query help to decide where the next query attends:
#
#     f = F * w'                                        w': the weights of the previous query
#     score(q, m) = v . tanh(W q + U m + V f_m)         without V f: content; without U m: location
#
# The weights are a softmax of the scores, which can be sharpened, smoothed or limited to a window.
# Shapes: B examples, N rows (queries at one time step), M items, W query width, C item width, D
# width of the scores' hidden layer, K filters.


SCORINGS = ("content", "location", "hybrid")


class LocationAttention(nn.Module):
    """Location-aware attention with the parameters of the score.

    Args:
        query_width: W.
        item_width: C.
        hidden: D.
        scoring: one of `SCORINGS`.
        filters: K.
        reach: number of items on each side of an item whose weights a filter covers.
    """

    def __init__(
        self,
        query_width: int,
        item_width: int,
        hidden: int,
        scoring: str = "hybrid",
        filters: int = 10,
        reach: int = 15,
    ) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.key: nn.Linear | None = None
        if scoring != "location":
            self.key = nn.Linear(item_width, hidden, bias=False)
        self.filters: nn.Conv1d | None = None
        if scoring != "content":
            self.filters = nn.Conv1d(1, filters, 2 * reach + 1, padding=reach, bias=False)
            self.place = nn.Linear(filters, hidden, bias=False)

    def compute_keys(self, items_BMC: Tensor) -> Tensor | None:
        """Compute the items' part of the scores, [B, M, D], which does not depend on the query.

        Returns:
            None if the scores depend on the location only.
        """
        return None if self.key is None else self.key(items_BMC)

    def compute_scores(
        self, query_NW: Tensor, keys_NMD: Tensor | None, before_NM: Tensor
    ) -> Tensor:
        """Compute the scores [N, M] of the items for the queries.

        Args:
            query_NW: the queries.
            keys_NMD: the result of `compute_keys`, for each row.
            before_NM: the weights of the previous query.
        """
        hidden_NMD = self.query(query_NW)[:, None]
        if keys_NMD is not None:
            hidden_NMD = hidden_NMD + keys_NMD
        if self.filters is not None:
            found_NKM = self.filters(before_NM[:, None])
            hidden_NMD = hidden_NMD + self.place(found_NKM.transpose(1, 2))
        scores_NM: Tensor = self.score(torch.tanh(hidden_NMD)).squeeze(2)
        return scores_NM


def make_first_weights(readable_NM: Tensor) -> Tensor:
    """Return the weights "before" the first query, all on the first readable item: [N, M]."""
    is_first_NM = readable_NM & (readable_NM.cumsum(1) == 1)
    return is_first_NM.float()


def compute_weights(
    scores_NM: Tensor, readable_NM: Tensor, before_NM: Tensor, share: Share
) -> Tensor:
    """Turn scores into weights [N, M].

    Items that are not readable get zero. If no item is readable, all weights are zero.

    Args:
        scores_NM: finite scores.
        readable_NM: bool, whether an item may be attended to.
        before_NM: the weights of the previous query. A window is centred on their median.
        share: how scores become weights.
    """
    if share.window:
        in_window_NM = _find_window(before_NM, share.window) & readable_NM
        # A window without a readable item would leave no item to attend to, so it is ignored there.
        has_any_N1 = in_window_NM.any(1, keepdim=True)
        readable_NM = torch.where(has_any_N1, in_window_NM, readable_NM)
    sharpened_NM = scores_NM * share.factor
    if share.smooth:
        raised_NM = torch.sigmoid(sharpened_NM).masked_fill(~readable_NM, 0.0)
        return raised_NM / raised_NM.sum(1, keepdim=True).clamp_min(1e-20)
    lowest = torch.finfo(scores_NM.dtype).min
    weights_NM = sharpened_NM.masked_fill(~readable_NM, lowest).softmax(1)
    return weights_NM.masked_fill(~readable_NM, 0.0)


def _find_window(before_NM: Tensor, window: int) -> Tensor:
    """Return which items are within `window` items of the middle of the weights, bool [N, M].

    The middle is the weighted median because a few distant weights do not move it.
    """
    middle_N1 = (before_NM.cumsum(1) < 0.5).sum(1, keepdim=True)
    places_M = torch.arange(before_NM.shape[1], device=before_NM.device)
    return (places_M - middle_N1).abs() <= window
