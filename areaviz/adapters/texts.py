"""Texts as others' models read them: token ids, and where each token stands in the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from areaviz.trace.arrays import MAX_ITEMS, text_of
from areaviz.trace.errors import InputError
from areaviz.trace.limits import check_text
from areaviz.trace.record import Field

# How SentencePiece and byte-level BPE write the blank before a word.
_SPACES = "▁Ġ"


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A text as a model reads it."""

    ids: tuple[int, ...]
    # The same as a field of a trace, under any name.
    field: Field

    def named(self, name: str) -> Field:
        """The field under another name."""
        return replace(self.field, name=name)


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts to token ids and back."""

    # Of `transformers`, or None where ids and labels are given.
    tokenizer: Any = None

    def read(
        self, given: object, labels: Sequence[str] | None = None, what: str = "inputs"
    ) -> Tokens:
        """A text, or token ids.

        Args:
            given: a text, or a sequence, an array or a tensor of ids, which may have a batch axis
                of one.
            labels: what each of the ids shows; by default what the tokenizer says, else the ids
                themselves.
            what: what it is called where it is refused.

        Raises:
            InputError: there is no tokenizer for a text, or it is empty, too long or no text and no
                ids.
        """
        if isinstance(given, str):
            return self._text(given)
        ids = _ids(given, what)
        if labels is not None and len(labels) != len(ids):
            raise InputError(
                f"There are {len(labels):,} labels but {len(ids):,} token ids; give one label for"
                " each."
            )
        field = text_of("text", list(labels)) if labels is not None else self._written(ids)
        return Tokens(ids, field)

    def target_ids(self, given: object) -> tuple[int, ...]:
        """What a decoder should write, a text or token ids, as ids."""
        if not isinstance(given, str):
            return _ids(given, "target")
        check_text(given)
        return _ids(self._needed()(text_target=given)["input_ids"], "target")

    def label(self, token: int) -> str:
        """What a token shows by itself."""
        if self.tokenizer is None:
            return str(token)
        text = str(self.tokenizer.decode([token]))
        return text if text.strip() else str(self.tokenizer.convert_ids_to_tokens(token))

    def _text(self, text: str) -> Tokens:
        check_text(text)
        tokenizer = self._needed()
        offsets = bool(getattr(tokenizer, "is_fast", False))
        read = tokenizer(text, return_offsets_mapping=offsets, truncation=False)
        ids = _ids(read["input_ids"], "text")
        if not offsets:
            return Tokens(ids, aligned(text, self._pieces(ids)))
        labels, anchors, at = [], [], 0
        for piece, (start, end) in zip(self._pieces(ids), read["offset_mapping"], strict=True):
            # A symbol that stands for no text stands behind the token before it.
            start, at = (start, end) if end > start else (at, at)
            labels.append(text[start:at] or piece)
            anchors.append((start, at))
        return Tokens(ids, _field(text, labels, anchors))

    def _needed(self) -> Any:
        if self.tokenizer is None:
            raise InputError(
                "A text needs a tokenizer; give one (tokenizer=...), or token ids instead of the"
                " text."
            )
        return self.tokenizer

    def _written(self, ids: Sequence[int]) -> Field:
        """The field of tokens that were written, not read."""
        if self.tokenizer is None:
            return text_of("text", [str(token) for token in ids])
        text = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return aligned(str(text), self._pieces(ids))

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(piece) for piece in self.tokenizer.convert_ids_to_tokens(list(ids))]


def aligned(text: str, pieces: Sequence[str]) -> Field:
    """The field of tokens without places: each is looked for behind the one before.

    What does not stand in the text, such as the end of the sentence, gets start = end.
    """
    labels, anchors, at = [], [], 0
    for piece in pieces:
        bare = piece.strip(_SPACES).removeprefix("##")
        found = text.find(bare, at) if bare else -1
        start, at = (found, found + len(bare)) if found >= 0 else (at, at)
        labels.append(text[start:at] or piece)
        anchors.append((start, at))
    return _field(text, labels, anchors)


def _field(text: str, labels: Sequence[str], anchors: Sequence[tuple[int, int]]) -> Field:
    return Field("text", "text", text, tuple(labels), np.array(anchors, np.int64).reshape(-1, 2))


def _ids(given: object, what: str) -> tuple[int, ...]:
    try:
        tensor = torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"The {what} must be a text or token ids; give one of them.") from error
    if tensor.dim() == 2 and len(tensor) == 1:
        tensor = tensor[0]
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
    return tuple(tensor.tolist())
