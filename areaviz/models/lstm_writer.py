"""The LSTM decoder that attends to areas of texts and clips.

The top layer of the LSTM attends. The context is combined with the state for the output and not fed
back, so in training all tokens attend at once.

Shapes: B examples, N = B * K rows of K beams per example, M items, T target items, L layers, W
width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.attention.multihead import AreaMemory, MultiHeadAttention
from areaviz.models.network import Pass
from areaviz.models.recurrent import SITE, RecurrentStepper, RecurrentWriter, State


@dataclass(frozen=True, slots=True)
class EncodedItems:
    """The encoder output for B examples.

    Args:
        items: the items to attend to, [B, M, W].
        padding: bool [B, M], True where an item must not be attended to. None if every item may be
            attended to.
        state: the decoder's first hidden and cell states, [B, L, W] each.
    """

    items: Tensor
    padding: Tensor | None
    state: State

    def average_items(self) -> Tensor:
        """Return the mean of the items that may be attended to, [B, W], or zeros without any."""
        padding_BM = torch.zeros_like(self.items[..., 0], dtype=torch.bool)
        if self.padding is not None:
            padding_BM = self.padding
        seen_BM1 = (~padding_BM)[:, :, None].to(self.items.dtype)
        return (self.items * seen_BM1).sum(1) / seen_BM1.sum(1).clamp_min(1)


class LstmWriter(RecurrentWriter):
    """The base of networks that write with an LSTM. A subclass assigns the attributes listed here.

    Without attention, the LSTM gets the mean of all items before each token.
    """

    decoder: nn.LSTM
    cross: MultiHeadAttention | None
    hidden_out: nn.Linear

    def encode(self, seen: Tensor, changed: NetworkInterventions = UNCHANGED) -> EncodedItems:
        """Encode the inputs."""
        raise NotImplementedError

    def attend(
        self,
        seen: Tensor,
        target_BT: Tensor,
        need_weights: bool = True,
        changed: NetworkInterventions = UNCHANGED,
    ) -> Pass:
        """Process all tokens at once, with the area weights of this pass if `need_weights`."""
        read = self.encode(seen, changed)
        top_BTW, _ = self.decoder(self.embed_words(target_BT), _move_layers_first(read.state))
        if self.cross is None:
            return Pass(self.read_out(top_BTW, read.average_items()[:, None]), {})
        context_BTW, weights = self.cross(
            top_BTW,
            read.items,
            read.padding,
            need_weights=need_weights,
            interventions=changed.get_layer_changes(SITE, 0),
        )
        logits = self.read_out(top_BTW, context_BTW)
        return Pass(logits, {} if weights is None else {SITE: [weights]})

    def read_out(self, top: Tensor, context: Tensor) -> Tensor:
        """Compute logits [..., V] from the decoder's top layer and the context."""
        return self.compute_logits(torch.tanh(self.hidden_out(top) + context))

    def advance(
        self, ids_N: Tensor, state: State, memory: AreaMemory | Tensor
    ) -> tuple[Tensor, State]:
        """Return the logits [N, V] after one more token of every row, and the new state.

        The memory is the mean of the items, [B, W], if the network has no attention.
        """
        top_N1W, after = self.decoder(self.embed_words(ids_N)[:, None], _move_layers_first(state))
        top_NW = top_N1W[:, 0]
        if isinstance(memory, Tensor):
            context_NW = memory.repeat_interleave(len(top_NW) // len(memory), 0)
        else:
            assert self.cross is not None
            query_BKW = top_NW.unflatten(0, (memory.batch, -1))
            context_NW = self.cross.attend_to_memory(query_BKW, memory).flatten(0, 1)
        return self.read_out(top_NW, context_NW), tuple(part.transpose(0, 1) for part in after)

    def write(self, seen: Tensor, changed: NetworkInterventions = UNCHANGED) -> RecurrentStepper:
        """Return the decoder over these inputs, which writes one token at a time."""
        read = self.encode(seen, changed)
        if self.cross is None:
            return RecurrentStepper(self, read.average_items(), read.state)
        memory = self.cross.build_memory(
            read.items, read.padding, changed.get_layer_changes(SITE, 0)
        )
        return RecurrentStepper(self, memory, read.state)


def _move_layers_first(state: State) -> State:
    """Return states [N, L, W] as [L, N, W], which the LSTM of torch takes."""
    return tuple(part.transpose(0, 1).contiguous() for part in state)
