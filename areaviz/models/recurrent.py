"""The base of recurrent networks that write, and the LSTM decoder that attends to areas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED, NetworkInterventions
from areaviz.attention.multihead import AreaMemory, MultiHeadAttention
from areaviz.models.network import GenerationNetwork, Pass, compute_token_log_probabilities
from areaviz.models.tokenizer import PAD

# The base of recurrent networks that read items and write one token at a time.
#
# Shapes: B sentences, N = B * K rows of K beams per sentence (the beams of a sentence are
# consecutive rows), M source items, T target items, W width, C width of an encoded item, V
# vocabulary.


RECURRENT_SITE = "encoder-decoder"
"""The site at which a recurrent decoder attends to the source, if it has attention."""
RECURRENT_SITES = {RECURRENT_SITE: ("target", "source")}

State = tuple[Tensor, ...]
"""The state of a recurrent decoder. The first axis of every tensor is the rows."""


class TiedWords:
    """A part of a network in which the input words and the output share their embeddings."""

    embedding: nn.Embedding
    dropout: nn.Dropout

    def embed_words(self, ids: Tensor) -> Tensor:
        """Embed tokens: [..., W]."""
        words: Tensor = self.dropout(self.embedding(ids) * self.embedding.embedding_dim**0.5)
        return words

    def compute_logits(self, mixed: Tensor) -> Tensor:
        """Compute logits [..., V] from the decoder's output [..., W]."""
        return F.linear(self.dropout(mixed), self.embedding.weight)


class RecurrentWriter(TiedWords, GenerationNetwork):
    """The base of recurrent networks that write. Input and output share their embeddings.

    Args:
        vocabulary: number of tokens.
        width: width of a token's vector.
        dropout: dropout on tokens and on the decoder's output, 0..1.
    """

    inputs = ("source",)

    def __init__(self, vocabulary: int, width: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.dropout = nn.Dropout(dropout)

    def advance(self, ids_N: Tensor, state: State, memory: Any) -> tuple[Tensor, State]:
        """Return the logits [N, V] after one more token of every row, and the new state."""
        raise NotImplementedError


def find_items_to_read(source_BM: Tensor, hidden: Sequence[int]) -> Tensor:
    """Return bool [B, M]: true for the items to read, which are neither padding nor hidden."""
    seen_BM = source_BM != PAD
    seen_BM[:, list(hidden)] = False
    return seen_BM


def read_items(
    core: nn.GRU | nn.LSTM, words_BMW: Tensor, seen_BM: Tensor, is_backwards: bool = False
) -> tuple[Tensor, Tensor]:
    """Run a recurrent network over items.

    Items that are not read are skipped as if the sentence did not contain them, and their outputs
    are zeros. A sentence without any item is read as a single zero vector. (Packed sequences give
    the same result, but on a CPU they spend a quarter of a training step filling zeros.)

    Args:
        core: a recurrent network of one direction.
        words_BMW: embedded items.
        seen_BM: bool, whether an item is read.
        is_backwards: whether to read the last item first.

    Returns:
        The outputs for all items, [B, M, C], and the outputs for the item of each sentence that was
        read last, [B, C].
    """
    places_M = torch.arange(words_BMW.shape[1], device=words_BMW.device)
    # Sort the items that are read to the front, in reading order.
    behind_BM = (~seen_BM).long() * len(places_M)
    order_BM = (behind_BM + (-places_M if is_backwards else places_M)).argsort(1)
    zeroed_BMW = words_BMW.masked_fill(~seen_BM[:, :, None], 0.0)
    output_BMC, _ = core(zeroed_BMW.gather(1, _repeat_per_channel(order_BM, words_BMW.shape[2])))
    last_B = seen_BM.sum(1).clamp_min(1) - 1
    last_BC = output_BMC[torch.arange(len(last_B), device=last_B.device), last_B]
    back_BM = _repeat_per_channel(order_BM.argsort(1), output_BMC.shape[2])
    return output_BMC.gather(1, back_BM).masked_fill(~seen_BM[:, :, None], 0.0), last_BC


def read_both_ways(
    forwards: nn.GRU, backwards: nn.GRU, items_BMW: Tensor, seen_BM: Tensor
) -> tuple[Tensor, Tensor]:
    """Run two recurrent networks over items, one from each end, as `read_items` does.

    Returns:
        The outputs of both for each item, [B, M, 2 C], and their last outputs, [B, 2 C].
    """
    ahead_BMC, last_BC = read_items(forwards, items_BMW, seen_BM)
    back_BMC, first_BC = read_items(backwards, items_BMW, seen_BM, is_backwards=True)
    return torch.cat([ahead_BMC, back_BMC], 2), torch.cat([last_BC, first_BC], 1)


def _repeat_per_channel(order_BM: Tensor, channels: int) -> Tensor:
    return order_BM[:, :, None].expand(-1, -1, channels)


class RecurrentDecoder(Protocol):
    """A recurrent network that generates tokens."""

    def advance(self, ids_N: Tensor, state: State, memory: Any) -> tuple[Tensor, State]:
        """Return the logits [N, V] after one more token of every row, and the new state."""


class RecurrentStepper:
    """The state of decoding. The beams of a sentence share its memory but not their state."""

    def __init__(self, network: RecurrentDecoder, memory: Any, state: State) -> None:
        self._network, self._memory, self._state = network, memory, state

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N].

        Returns:
            Log-probabilities of the next token, [N, V].
        """
        state = repeat_states(self._state, len(tokens))
        ids_N = tokens.to(state[0].device)
        logits_NV, self._state = self._network.advance(ids_N, state, self._memory)
        return compute_token_log_probabilities(logits_NV)

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows.

        A row is only ever replaced by a row of the same sentence, so the memory does not change.
        """
        rows = rows.to(self._state[0].device)
        self._state = tuple(part[rows] for part in self._state)


def repeat_states(state: State, rows: int) -> State:
    """Repeat the states of sentences for each of their beams, to `rows` rows in total."""
    return tuple(part.repeat_interleave(rows // len(part), 0) for part in state)


# The LSTM decoder that attends to areas of texts and clips.
#
# The top layer of the LSTM attends. The context is combined with the state for the output and not
# fed back, so in training all tokens attend at once.
#
# Shapes: B examples, N = B * K rows of K beams per example, M items, T target items, L layers, W
# width, V vocabulary.


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
            interventions=changed.get_layer_changes(RECURRENT_SITE, 0),
        )
        logits = self.read_out(top_BTW, context_BTW)
        return Pass(logits, {} if weights is None else {RECURRENT_SITE: [weights]})

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
            read.items, read.padding, changed.get_layer_changes(RECURRENT_SITE, 0)
        )
        return RecurrentStepper(self, memory, read.state)


def _move_layers_first(state: State) -> State:
    """Return states [N, L, W] as [L, N, W], which the LSTM of torch takes."""
    return tuple(part.transpose(0, 1).contiguous() for part in state)
