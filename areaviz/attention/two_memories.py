"""Attention to a text and a picture at once, with added contexts (Arslan et al. 2018, Eq. 5-8).

    head = softmax(Q K_t^T / sqrt(D)) V_t + softmax(Q K_v^T / sqrt(D)) V_v

Queries and the output projection are shared. Each memory has its own keys and values. A missing
memory adds nothing: without a picture this is multi-head attention to the text, and without a text
it is multi-head attention to the picture.

Shapes: B batch, Q queries, M text items, P cells, R areas, W model width, H heads, D width of a
head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from areaviz.attention.area import AreaOptions
from areaviz.attention.interventions import LayerInterventions
from areaviz.attention.memory import AreaMemory
from areaviz.attention.multihead import KeysAndValues, MultiHeadAttention


@dataclass(frozen=True, slots=True)
class Memories:
    """A text and a picture. One of them may be missing."""

    # [B, M, W]
    text: Tensor | None
    # bool [B, M], True where an item of the text is padding. None if there is no padding.
    padding: Tensor | None = None
    # [B, P, W]
    picture: Tensor | None = None


@dataclass(frozen=True, slots=True)
class TwoInterventions:
    """The changes to the attention to the text and to the picture, or None for no change."""

    text: LayerInterventions | None = None
    picture: LayerInterventions | None = None


NO_INTERVENTIONS = TwoInterventions()


@dataclass(frozen=True, slots=True)
class TwoAreaMemories:
    """The cached memories that are present, which a decoder attends to at every step."""

    present: tuple[AreaMemory, ...]

    @property
    def batch(self) -> int:
        """The number of examples."""
        return self.present[0].batch

    def attend(self, query_BHQD: Tensor) -> Tensor:
        """Return the sum of the contexts [B, H, Q, D] from all memories."""
        return torch.stack([memory.attend(query_BHQD) for memory in self.present]).sum(0)


@dataclass(frozen=True, slots=True)
class Share:
    """The contribution of one memory."""

    # Area weights [B, H, Q, R].
    weights: Tensor
    # The norm of each head's context [B, H, Q].
    strength: Tensor


class DoublyAttention(MultiHeadAttention):
    """Attention to a text and a picture, with separate keys and values for each.

    `key` and `value` belong to the text and have the names that they have in a model without
    pictures. A checkpoint of a text-only model therefore fits the text's part. `picture` has its
    own keys and values.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        text_areas: AreaOptions,
        picture_areas: AreaOptions,
        impl: str = "auto",
    ) -> None:
        super().__init__(width, heads, text_areas, impl)
        self.picture = KeysAndValues(width, heads, picture_areas, impl)

    def attend_both(
        self,
        query_BQW: Tensor,
        memories: Memories,
        need_weights: bool = False,
        interventions: TwoInterventions = NO_INTERVENTIONS,
    ) -> tuple[Tensor, dict[str, Share]]:
        """Attend to both memories.

        Returns:
            The context [B, Q, W] and, with `need_weights`, the contributions of "text" and
            "picture".
        """
        query_BHQD = self.split_heads(self.query(query_BQW))
        contexts, shares = [], {}
        if memories.text is not None:
            context, weights = self.attend(
                query_BHQD,
                memories.text,
                memories.padding,
                need_weights=need_weights,
                interventions=interventions.text,
            )
            contexts.append(context)
            if weights is not None:
                shares["text"] = Share(weights, context.norm(dim=-1))
        if memories.picture is not None:
            context, weights = self.picture.attend(
                query_BHQD,
                memories.picture,
                need_weights=need_weights,
                interventions=interventions.picture,
            )
            contexts.append(context)
            if weights is not None:
                shares["picture"] = Share(weights, context.norm(dim=-1))
        return self.merge_heads(torch.stack(contexts).sum(0)), shares

    def build_memories(
        self, memories: Memories, interventions: TwoInterventions = NO_INTERVENTIONS
    ) -> TwoAreaMemories:
        """Pool the keys and values of both memories once."""
        present = []
        if memories.text is not None:
            present.append(self.build_memory(memories.text, memories.padding, interventions.text))
        if memories.picture is not None:
            picture = self.picture.build_memory(
                memories.picture, interventions=interventions.picture
            )
            present.append(picture)
        return TwoAreaMemories(tuple(present))
