"""Multi-head attention over areas: the layer every Transformer here is made of.

Shapes: B batch, Q queries, M memory items, R areas, W model width, H heads, D width of a head.
"""

from __future__ import annotations

from torch import Tensor, nn

from areaviz.attention.interventions import Steering
from areaviz.attention.memory import AreaOptions, KeysAndValues, Remembered


class MultiHeadAttention(KeysAndValues):
    """Projections, area attention for every head, and the output projection (Vaswani et al. 2017,
    3.2.2).
    """

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
        steering: Steering | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Context [B, Q, W] and, when asked for, area weights [B, H, Q, R] of the same pass, see
        `attend`.
        """
        query_BHQD = self.split(self.query(query_BQW))
        context_BHQD, weights = self.attend(
            query_BHQD, memory_BMW, key_padding_mask, is_causal, need_weights, steering
        )
        return self.merge(context_BHQD), weights

    def ask(self, query_BQW: Tensor, memory: Remembered) -> Tensor:
        """Context [B, Q, W] of queries that may attend to every allowed area of `memory`."""
        return self.merge(memory.ask(self.split(self.query(query_BQW))))

    def merge(self, x_BHQD: Tensor) -> Tensor:
        """The output projection of all heads side by side: [B, Q, W]."""
        out: Tensor = self.out(x_BHQD.transpose(1, 2).flatten(2))
        return out
