"""Additive attention (Bahdanau et al. 2015): a small network scores every item for a query.

    score(q, m) = v . tanh(W q + U m),   weights = softmax of the scores,   context = sum of w m

Unlike the dot product its scores do not split into parts of item and query, so an area's score is
not the mean of its items' scores, and it attends to single items alone.
Shapes: B examples, K queries of an example at one time, T times, M items, W query width, C item
width, D width of the scores' hidden layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import LayerInterventions
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True)
class ItemMemory:
    """Items that are attended to again and again while a sentence is written.

    Args:
        value: the items, [B, M, C].
        key: the items' part of the scores, [B, M, D].
        bias: added to the scores, [B or 1, T or 1, M], minus infinity where an item is not read;
            None for nothing.
        gate: what is read is multiplied by this.
    """

    value: Tensor
    key: Tensor
    bias: Tensor | None = None
    gate: float = 1.0

    def bias_at(self, time: int) -> Tensor | None:
        """What is added to the scores at one time, [B or 1, 1, M]; the last holds for all later."""
        if self.bias is None:
            return None
        return self.bias[:, min(time, self.bias.shape[1] - 1), None]


class AdditiveAttention(nn.Module):
    """The parameters W, U and v of the score.

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
        """The items with what of their scores no query changes.

        Args:
            items_BMC: the items.
            padding_BM: bool, True where an item is padding; None where none is.
            interventions: what is done otherwise, None for nothing.
            times: how many queries an example has, one after the other.
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
        """Contexts [B, K, C] and weights [B, K, M] of queries at one time.

        Both are zeros where nothing may be read.
        """
        hidden_BKMD = torch.tanh(memory.key[:, None] + self.query(query_BKW).unsqueeze(2))
        score_BKM = self.score(hidden_BKMD).squeeze(3)
        weights_BKM = _weights(score_BKM, memory.bias_at(time))
        context_BKC = weights_BKM @ memory.value
        return (context_BKC if memory.gate == 1.0 else context_BKC * memory.gate), weights_BKM


def _weights(score_BKM: Tensor, bias_B1M: Tensor | None) -> Tensor:
    """The softmax of scores and bias; zeros where the bias lets nothing be read."""
    if bias_B1M is None:
        return score_BKM.softmax(2)
    nothing_B11 = (bias_B1M == -torch.inf).all(2, keepdim=True)
    biased_BKM = (score_BKM + bias_B1M).masked_fill(nothing_B11, 0.0)
    return biased_BKM.softmax(2).masked_fill(nothing_B11, 0.0)
