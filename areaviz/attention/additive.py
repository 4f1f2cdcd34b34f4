"""Additive attention (Bahdanau et al. 2015): a small network scores every item for a query.

    score(q, m) = v . tanh(W q + U m),   weights = softmax of the scores,   context = sum of w m

Unlike a dot product, these scores do not split into a part of the item and a part of the query. An
area's score is therefore not the mean of its items' scores, so this attention has areas of one item
only.
Shapes: B examples, K queries of an example at one time step, T time steps, M items, W query width,
C item width, D width of the scores' hidden layer.
"""

from __future__ import annotations

from dataclasses import dataclass

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
        key: the items' part of the scores (U m), [B, M, D].
        bias: added to the scores, [B or 1, T or 1, M]. It is minus infinity for items that must not
            be
            attended to. None adds nothing.
        gate: factor on the context.
    """

    value: Tensor
    key: Tensor
    bias: Tensor | None = None
    gate: float = 1.0

    def bias_at(self, time: int) -> Tensor | None:
        """Return the bias of the scores at one time step, [B or 1, 1, M].

        The last stored step applies to all later steps.
        """
        if self.bias is None:
            return None
        return self.bias[:, min(time, self.bias.shape[1] - 1), None]


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

    def remember(
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
        bias, gate = None, 1.0
        if padding_BM is not None:
            bias = torch.zeros_like(padding_BM, dtype=items_BMC.dtype)
            bias = bias.masked_fill(padding_BM, -torch.inf)[:, None]
        if interventions is not None:
            grid = AreaGrid(1, items_BMC.shape[1], 1, 1)
            factors_1TM = interventions.multipliers(grid, times, items_BMC.device)
            if factors_1TM is not None:
                logs_1TM = factors_1TM.to(items_BMC.dtype).log()
                bias = logs_1TM if bias is None else bias + logs_1TM
            gate = float(interventions.gated(torch.ones(1, 1, 1)))
        return ItemMemory(items_BMC, self.key(items_BMC), bias, gate)

    def ask(self, query_BKW: Tensor, memory: ItemMemory, time: int = 0) -> tuple[Tensor, Tensor]:
        """Attend with the queries of one time step.

        Returns:
            Contexts [B, K, C] and weights [B, K, M]. Both are zeros for a query that may attend to
            no item.
        """
        hidden_BKMD = torch.tanh(memory.key[:, None] + self.query(query_BKW).unsqueeze(2))
        score_BKM = self.score(hidden_BKMD).squeeze(3)
        weights_BKM = _weights(score_BKM, memory.bias_at(time))
        context_BKC = weights_BKM @ memory.value
        return (context_BKC if memory.gate == 1.0 else context_BKC * memory.gate), weights_BKM


def _weights(score_BKM: Tensor, bias_B1M: Tensor | None) -> Tensor:
    """Return the softmax of scores plus bias, or zeros where the bias masks every item."""
    if bias_B1M is None:
        return score_BKM.softmax(2)
    nothing_B11 = (bias_B1M == -torch.inf).all(2, keepdim=True)
    biased_BKM = (score_BKM + bias_B1M).masked_fill(nothing_B11, 0.0)
    return biased_BKM.softmax(2).masked_fill(nothing_B11, 0.0)
