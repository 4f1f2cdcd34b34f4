"""Texts as other people's models read them: token ids, and the characters of each token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.anchors import Piece, Span, anchor_pieces, complete_offsets
from areaviz.trace.arrays import MAX_ITEMS, text_of
from areaviz.trace.errors import Advised, InputError
from areaviz.trace.limits import check_text
from areaviz.trace.record import Field

# What tokenizers return beside a model's inputs.
_NO_INPUTS = {"input_ids", "offset_mapping", "special_tokens_mask", "length", "overflow_to_sample"}


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A text as a model reads it."""

    ids: tuple[int, ...]
    # The same as a field of a trace, under any name.
    field: Field
    # What else a model is given with them, such as a mask or the segment of each, [1, N].
    more: Mapping[str, Tensor] = dataclass_field(default_factory=dict)
    # How many examples the batch had that these come from.
    batch: int = 1

    def named(self, name: str) -> Field:
        """The field under another name."""
        return replace(self.field, name=name)


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts to token ids and back."""

    # Of `transformers` or `tokenizers`, or None where ids and labels are given.
    tokenizer: Any = None
    # Which example of a batch is read.
    example: int = 0

    def read(
        self, given: object, labels: Sequence[str] | None = None, what: str = "inputs"
    ) -> Tokens:
        """A text, a pair of texts, or token ids; of a batch one example.

        Args:
            given: a text, a tuple of two, or a sequence, an array or a tensor of ids; a list of
                texts or an axis in front is a batch; a mapping, as tokenizers return it, has masks
                and segments beside `input_ids`.
            labels: what each of the ids shows; by default what the tokenizer says, else the ids
                themselves.
            what: what it is called where it is refused.

        Raises:
            InputError: there is no tokenizer for a text, or it is empty, too long or no text and no
                ids.
        """
        if isinstance(given, list) and given and all(isinstance(one, str) for one in given):
            return replace(self._text(self._one_of(given)), batch=len(given))
        if isinstance(given, str):
            return self._text(given)
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(x, str) for x in given):
            return self._text(*given)
        if isinstance(given, Mapping):
            return self._mapping(given, labels, what)
        ids, batch = self._ids(given, what)
        if labels is not None and len(labels) != len(ids):
            raise InputError(
                f"There are {len(labels):,} labels but {len(ids):,} token ids; give one label for"
                " each."
            )
        field = text_of("text", list(labels)) if labels is not None else self._written(ids)
        return Tokens(ids, field, batch=batch)

    def _mapping(self, given: Mapping[str, Any], labels: Sequence[str] | None, what: str) -> Tokens:
        """What a tokenizer returned: ids, and what belongs to them."""
        if "input_ids" not in given:
            raise InputError(f"The {what} have no input_ids; give them, or a text.")
        tokens = self.read(given["input_ids"], labels, what)
        more = {}
        for name, value in given.items():
            if name not in _NO_INPUTS:
                beside = torch.as_tensor(value)
                beside = beside[None] if beside.dim() == 1 else beside
                if beside.shape[:2] == (tokens.batch, len(tokens.ids)):
                    beside = beside[self.example : self.example + 1] if tokens.batch > 1 else beside
                more[name] = beside
        return replace(tokens, more=more)

    def target_ids(self, given: object) -> tuple[int, ...]:
        """What a decoder should write, a text or token ids, as ids."""
        if not isinstance(given, str):
            return self._ids(given, "target")[0]
        check_text(given)
        return self._ids(self._needed()(text_target=given)["input_ids"], "target")[0]

    def label(self, token: int) -> str:
        """What a token shows by itself."""
        if self.tokenizer is None:
            return str(token)
        tokenizer = self._needed()
        text = str(tokenizer.decode([token]))
        return text if text.strip() else self._pieces([token])[0]

    def behind(self, tokens: Sequence[int], token: int) -> str:
        """What a token adds to a text that ends with `tokens`, its blank as well."""
        label = self.label(token)
        if self.tokenizer is None:
            return f" {label}"
        tokenizer = self._needed()
        before = str(tokenizer.decode(list(tokens)))
        whole = str(tokenizer.decode([*tokens, token]))
        return whole[len(before) :] if whole.startswith(before) else label

    def _text(self, text: str, second: str = "") -> Tokens:
        """Read a text, or two as a pair, where the second follows the first and a blank.

        Raises:
            InputError: there is no tokenizer, or the text is empty or too long.
        """
        whole = f"{text} {second}" if second else text
        check_text(whole)
        read = _tokenized(self._needed(), (text, second) if second else (text,))
        ids, _ = self._ids(read["input_ids"], "text")
        pieces = self._spelled(ids)
        if "offset_mapping" in read:
            sides = read.sequence_ids() if second else [0] * len(ids)
            shifts = [len(text) + 1 if side == 1 else 0 for side in sides]
            offsets = zip(read["offset_mapping"], shifts, strict=True)
            moved = [(int(start) + by, int(end) + by) for (start, end), by in offsets]
            spans = complete_offsets(whole, pieces, moved)
        else:
            spans = anchor_pieces(whole, pieces)
        more = {}
        for name, value in read.items():
            if name not in _NO_INPUTS:
                more[name] = torch.as_tensor(value)[None]
        return Tokens(ids, _field(whole, pieces, spans), more)

    def _ids(self, given: object, what: str) -> tuple[tuple[int, ...], int]:
        """Token ids of one example, and how many the batch has."""
        try:
            tensor = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"The {what} must be a text or token ids; give one of them."
            ) from error
        batch = len(tensor) if tensor.dim() == 2 else 1
        if tensor.dim() == 2 and batch:
            tensor = self._one_of(tensor)
        whole = not (tensor.is_floating_point() or tensor.dtype == torch.bool)
        if tensor.dim() != 1 or not len(tensor) or not whole:
            raise InputError(
                f"The {what} have the shape {tuple(tensor.shape)} but must be the token ids of one"
                " example; give a sequence of whole numbers."
            )
        if len(tensor) > MAX_ITEMS:
            raise InputError(
                f"The {what} have {len(tensor):,} tokens but at most {MAX_ITEMS:,} are possible;"
                " shorten them."
            )
        return tuple(tensor.tolist()), batch

    def _one_of(self, batch: Any) -> Any:
        """The example that is read; of a batch of one, that one."""
        count = len(batch)
        if count > 1 and not 0 <= self.example < count:
            raise InputError(
                f"The batch has {count} examples, so there is no example {self.example}; count"
                " them from 0."
            )
        return batch[self.example if count > 1 else 0]

    def _needed(self) -> Any:
        if self.tokenizer is None:
            raise Advised("A text needs a tokenizer", "tokenizer")
        if type(self.tokenizer).__module__.startswith("tokenizers"):
            from transformers import PreTrainedTokenizerFast

            family: Any = PreTrainedTokenizerFast
            return family(tokenizer_object=self.tokenizer)
        return self.tokenizer

    def _written(self, ids: Sequence[int]) -> Field:
        """The field of tokens that were written, not read."""
        if self.tokenizer is None:
            return text_of("text", [str(token) for token in ids])
        text = str(self._needed().decode(list(ids), skip_special_tokens=True))
        pieces = self._spelled(ids)
        return _field(text, pieces, anchor_pieces(text, pieces))

    def _spelled(self, ids: Sequence[int]) -> list[Piece]:
        """Return tokens as the tokenizer spells them, with what it says of each."""
        tokenizer = self._needed()
        special = set(getattr(tokenizer, "all_special_ids", None) or ())
        unknown = getattr(tokenizer, "unk_token_id", None)
        pieces = []
        for token, text in zip(ids, self._pieces(ids), strict=True):
            pieces.append(Piece(text, token in special and token != unknown, token == unknown))
        return pieces

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        pieces = self._needed().convert_ids_to_tokens(list(ids))
        # A model may have more embeddings than its tokenizer has pieces.
        known = zip(ids, pieces, strict=True)
        return [f"⟨{token}⟩" if piece is None else str(piece) for token, piece in known]


def _tokenized(tokenizer: Any, texts: Sequence[str]) -> Any:
    """Return what a tokenizer makes of a text or a pair, with offsets where it has them."""
    if not getattr(tokenizer, "is_fast", False):
        return tokenizer(*texts, truncation=False)
    return tokenizer(*texts, return_offsets_mapping=True, truncation=False)


def _field(text: str, pieces: Sequence[Piece], spans: Sequence[Span]) -> Field:
    """Return the field of tokens that stand at these places of a text."""
    labels = [
        text[start:end] or piece.text for piece, (start, end) in zip(pieces, spans, strict=True)
    ]
    return Field("text", "text", text, tuple(labels), np.array(spans, np.int64).reshape(-1, 2))
