"""What recurrent translators share: a sentence is read item by item and written token by token.

Shapes: B sentences, N = B * K rows of K beams a sentence, sentence by sentence, M source items, T
target items, W width, C width of what is remembered of an item, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.data.tokenizer import PAD
from areaviz.models.decoder import token_log_probabilities
from areaviz.models.network import WritingNetwork

SITE = "encoder-decoder"
"""Where a recurrent decoder attends to the source, if it does."""
SITES = {SITE: ("target", "source")}

State = tuple[Tensor, ...]
"""What a recurrent decoder knows of what it has written; every tensor has the rows first."""


class RecurrentTranslator(WritingNetwork):
    """The base of the recurrent translators; embeddings are shared by source, target and output.

    Args:
        vocabulary: tokens.
        width: of a token's vector.
        dropout: on tokens and on what is read out, 0..1.
    """

    inputs = ("source",)

    def __init__(self, vocabulary: int, width: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, source_BM: Tensor, target_BT: Tensor) -> Tensor:
        """Logits [B, T, V] of the token after each of `target_BT`, which begins with the start."""
        return self.attend(source_BM, target_BT, need_weights=False).logits

    def advance(self, ids_N: Tensor, state: State, memory: Any) -> tuple[Tensor, State]:
        """Logits [N, V] after one more token of every row, and the state that knows it."""
        raise NotImplementedError

    def words(self, ids: Tensor) -> Tensor:
        """Embedded tokens [..., W]."""
        words: Tensor = self.dropout(self.embedding(ids) * self.embedding.embedding_dim**0.5)
        return words

    def logits(self, mixed: Tensor) -> Tensor:
        """Logits [..., V] of what is read out [..., W]."""
        return F.linear(self.dropout(mixed), self.embedding.weight)


def items_to_read(source_BM: Tensor, hidden: Sequence[int]) -> Tensor:
    """Which items a recurrent network reads: not padding, and none that is hidden; bool [B, M]."""
    seen_BM = source_BM != PAD
    seen_BM[:, list(hidden)] = False
    return seen_BM


def read_items(
    core: nn.GRU | nn.LSTM, words_BMW: Tensor, seen_BM: Tensor, is_backwards: bool = False
) -> tuple[Tensor, Tensor]:
    """What a recurrent network makes of each item, [B, M, C], and of each sentence's last, [B, C].

    Items that are not seen are passed over, as if the sentence did not have them, and are zeros in
    the result; a sentence without any item reads as one zero. (Packed sequences would do the same,
    but on a CPU they take a quarter of a training step to fill zeros.)

    Args:
        core: of one direction.
        words_BMW: embedded items.
        seen_BM: bool, whether an item is read.
        is_backwards: whether the last item is read first.
    """
    places_M = torch.arange(words_BMW.shape[1], device=words_BMW.device)
    # Items that are read come first, in the order of reading.
    behind_BM = (~seen_BM).long() * len(places_M)
    order_BM = (behind_BM + (-places_M if is_backwards else places_M)).argsort(1)
    zeroed_BMW = words_BMW.masked_fill(~seen_BM[:, :, None], 0.0)
    output_BMC, _ = core(zeroed_BMW.gather(1, _per_channel(order_BM, words_BMW.shape[2])))
    last_B = seen_BM.sum(1).clamp_min(1) - 1
    last_BC = output_BMC[torch.arange(len(last_B), device=last_B.device), last_B]
    back_BM = _per_channel(order_BM.argsort(1), output_BMC.shape[2])
    return output_BMC.gather(1, back_BM).masked_fill(~seen_BM[:, :, None], 0.0), last_BC


def _per_channel(order_BM: Tensor, channels: int) -> Tensor:
    return order_BM[:, :, None].expand(-1, -1, channels)


class Advances(Protocol):
    """A recurrent network that writes."""

    def advance(self, ids_N: Tensor, state: State, memory: Any) -> tuple[Tensor, State]:
        """Logits [N, V] after one more token of every row, and the state that knows it."""


class RecurrentStepper:
    """The state of decoding: the beams of a sentence share its memory, each has its own state."""

    def __init__(self, network: Advances, memory: Any, state: State) -> None:
        self._network, self._memory, self._state = network, memory, state

    def step(self, tokens: Tensor) -> Tensor:
        """Feed the last token of every row, int64 [N]; log-probabilities of the next, [N, V]."""
        state = repeated(self._state, len(tokens))
        ids_N = tokens.to(state[0].device)
        logits_NV, self._state = self._network.advance(ids_N, state, self._memory)
        return token_log_probabilities(logits_NV)

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows; the memory stays, for rows never leave their sentence."""
        rows = rows.to(self._state[0].device)
        self._state = tuple(part[rows] for part in self._state)


def repeated(state: State, rows: int) -> State:
    """The states of sentences, once for each of their beams, `rows` in all."""
    return tuple(part.repeat_interleave(rows // len(part), 0) for part in state)
