"""The inputs of the networks that write: how each reads its part of a request.

To add one: a class like these, and a line in `INPUTS`.
Shapes: S source items with the end symbol, P = G * G cells, C channels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from areaviz.data.tokenizer import PAD, Tokenizer
from areaviz.models.canvas import cell_field, squeezed
from areaviz.models.recording import text_field
from areaviz.trace.record import Field
from areaviz.trace.request import Request


class Input(Protocol):
    """One input of a network."""

    @property
    def noun(self) -> str:
        """What a reader calls it."""

    @property
    def missing(self) -> str:
        """The sentence for a request that lacks the only input of a network."""

    def items(self, request: Request) -> int:
        """How many items the request has of it, 0 for none."""

    def field(self, request: Request) -> Field:
        """The items, for the trace."""

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        """What the network reads of each request."""

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        """What was read of several requests, side by side on the network's device."""


@dataclass(frozen=True, slots=True)
class TextInput:
    """A text, as token ids [S]."""

    noun = "sentence"
    missing = "The text has no visible character; type a sentence, for example: A dog runs."

    network: Any
    tokenizer: Tokenizer

    def items(self, request: Request) -> int:
        tokens = self.tokenizer.tokens(request.text)
        # A text of blanks has tokens, and yet nothing to translate.
        is_visible = any(token.text.strip() for token in tokens)
        return len(tokens) + 1 if is_visible else 0

    def field(self, request: Request) -> Field:
        return text_field("source", request.text, self.tokenizer.tokens(request.text), end=True)

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        return [torch.tensor(self.tokenizer.ids(request.text)) for request in requests]

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        # Padding is masked, so a sentence's result does not depend on its neighbours.
        padded_BS = pad_sequence(list(parts), batch_first=True, padding_value=PAD)
        return padded_BS.to(self.network.embedding.weight.device)


@dataclass(frozen=True, slots=True)
class PictureInput:
    """A picture, as the features of the cells of a grid [P, C]."""

    noun = "picture"
    missing = "This model describes pictures; choose or upload one."

    network: Any
    tokenizer: Tokenizer

    def items(self, request: Request) -> int:
        return 0 if request.picture is None else int(self.network.grid) ** 2

    def field(self, request: Request) -> Field:
        assert request.picture is not None
        return cell_field(request.picture, self.network.grid, self.network.grid)

    def read(self, requests: Sequence[Request]) -> list[Tensor]:
        side = self.network.encoder_config.side
        squares = [squeezed(one.picture, side) for one in requests if one.picture is not None]
        pixels = torch.stack(squares).to(self.network.embedding.weight.device)
        return list(self.network.look(pixels))

    def batch(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.stack(list(parts))


INPUTS: Mapping[str, Callable[[Any, Tokenizer], Input]] = {
    "source": TextInput,
    "picture": PictureInput,
}
"""Every input, by the name of its field."""
