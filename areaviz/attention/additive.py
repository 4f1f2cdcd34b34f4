"""Additive attention (Bahdanau et al. 2015), in which a small network scores items for a query.

    score(q, m) = v . tanh(W q + U m),   weights = softmax of the scores,   context = sum of w m

Unlike a dot product, these scores do not split into a part of the item and a part of the query. An
area's score is therefore not the mean of its items' scores, so this attention has areas of one item
only.
Shapes: B examples, K queries of an example at one time step, T time steps, M items, W query width,
C item width, D width of the scores' hidden layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import LayerInterventions
from areaviz.trace.areas import AreaGrid


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
