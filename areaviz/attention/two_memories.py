"""Attention to two memories at once, a text and a picture, whose contexts are added (Arslan et al.
2018, Eq. 5-8).

    head = softmax(Q K_t^T / sqrt(D)) V_t + softmax(Q K_v^T / sqrt(D)) V_v

Queries and the output projection are shared; keys and values are each memory's own. A memory that
is not there adds nothing, so without a picture this is multi-head attention to the text, and
without a text to the picture.
Shapes: B batch, Q queries, M text items, P cells, R areas, W model width, H heads, D width of a
head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from areaviz.attention.interventions import Steering
from areaviz.attention.memory import AreaMemory, AreaOptions, KeysAndValues
from areaviz.attention.multihead import MultiHeadAttention


@dataclass(frozen=True, slots=True)
class Memories:
    """A text [B, M, W] with its padding [B, M] (True = padding, None = none), a picture [B, P, W];
    one may lack.
    """

    text: Tensor | None
    padding: Tensor | None = None
    picture: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Steerings:
    """What is done otherwise in the attention to the text and in that to the picture; None for
    nothing.
    """

    text: Steering | None = None
    picture: Steering | None = None


UNSTEERED = Steerings()


@dataclass(frozen=True, slots=True)
class Kept:
    """Both memories, ready to be asked while a sentence is decoded."""

    text: AreaMemory | None
    picture: AreaMemory | None

    @property
    def batch(self) -> int:
        """How many examples there are."""
        return self._present[0].batch

    def ask(self, query_BHQD: Tensor) -> Tensor:
        """Contexts [B, H, Q, D] of queries to both memories, added."""
        return torch.stack([memory.ask(query_BHQD) for memory in self._present]).sum(0)

    @property
    def _present(self) -> list[AreaMemory]:
        return [memory for memory in (self.text, self.picture) if memory is not None]


@dataclass(frozen=True, slots=True)
class Share:
    """What one memory gave: area weights [B, H, Q, R], and the length of each head's context [B, H,
    Q].
    """

    weights: Tensor
    strength: Tensor


class DoublyAttention(MultiHeadAttention):
    """`key` and `value` are of the text, under the names they have without pictures; `picture` has
    its own.
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
        steerings: Steerings = UNSTEERED,
    ) -> tuple[Tensor, dict[str, Share]]:
        """Context [B, Q, W] and, when asked for, the shares of "text" and "picture", of those that
        are there.
        """
        query_BHQD = self.split(self.query(query_BQW))
        found = {}
        if memories.text is not None:
            found["text"] = self.attend(
                query_BHQD,
                memories.text,
                memories.padding,
                need_weights=need_weights,
                steering=steerings.text,
            )
        if memories.picture is not None:
            found["picture"] = self.picture.attend(
                query_BHQD, memories.picture, need_weights=need_weights, steering=steerings.picture
            )
        context_BHQD = torch.stack([context for context, _ in found.values()]).sum(0)
        shares = {
            name: Share(weights, context.norm(dim=-1))
            for name, (context, weights) in found.items()
            if weights is not None
        }
        return self.merge(context_BHQD), shares

    def keep(self, memories: Memories, steerings: Steerings = UNSTEERED) -> Kept:
        """Keys and values of both memories, pooled once."""
        text, picture = memories.text, memories.picture
        return Kept(
            None if text is None else self.remember(text, memories.padding, steerings.text),
            None if picture is None else self.picture.remember(picture, steering=steerings.picture),
        )
