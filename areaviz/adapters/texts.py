"""Texts as others' models read them: token ids, and the field that says where each token stands in
the text.

Shapes: N tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from areaviz.trace.arrays import MAX_ITEMS, text_of
from areaviz.trace.errors import InputError
from areaviz.trace.limits import check_text
from areaviz.trace.record import Field

_SPACES = ("▁", "Ġ")
"""How SentencePiece and byte-level BPE write the blank before a word."""


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """ids: what the model reads. field: the same as a field of a trace, under any name."""

    ids: tuple[int, ...]
    field: Field

    def named(self, name: str) -> Field:
        """The field under another name."""
        return Field(name, "text", self.field.raw, self.field.labels, self.field.anchors)


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts to token ids and back. tokenizer: of `transformers`, or None where ids and labels are
    given.
    """

    tokenizer: Any = None

    def read(
        self, given: object, labels: Sequence[str] | None = None, what: str = "inputs"
    ) -> Tokens:
        """A text, or token ids: a sequence, an array or a tensor, with a batch axis of one or
        without.

        labels: what each of the ids shows; by default what the tokenizer says, else the ids
        themselves.

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
        spans = _spans(read["offset_mapping"])
        pieces = zip(spans, self._pieces(ids), strict=True)
        labels = tuple(text[start:end] if end > start else piece for (start, end), piece in pieces)
        return Tokens(
            ids, Field("text", "text", text, labels, np.array(spans, dtype=np.int64).reshape(-1, 2))
        )

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
        return aligned(
            str(self.tokenizer.decode(list(ids), skip_special_tokens=True)), self._pieces(ids)
        )

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(piece) for piece in self.tokenizer.convert_ids_to_tokens(list(ids))]


def aligned(text: str, pieces: Sequence[str]) -> Field:
    """The field of a text whose tokens were named without their places: each is looked for behind
    the one before.

    What does not stand in the text, such as the end of the sentence, gets start = end.
    """
    labels, anchors, at = [], [], 0
    for piece in pieces:
        bare = piece.strip("".join(_SPACES)).removeprefix("##")
        found = text.find(bare, at) if bare else -1
        start, at = (found, found + len(bare)) if found >= 0 else (at, at)
        labels.append(text[start:at] or piece)
        anchors.append((start, at))
    return Field(
        "text", "text", text, tuple(labels), np.array(anchors, dtype=np.int64).reshape(-1, 2)
    )


def _spans(offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Start and end of each token; a symbol that stands for no text stands behind the token before
    it.
    """
    spans, at = [], 0
    for start, end in offsets:
        spans.append((start, end) if end > start else (at, at))
        at = spans[-1][1]
    return spans


def _ids(given: object, what: str) -> tuple[int, ...]:
    tensor = given if isinstance(given, torch.Tensor) else None
    try:
        tensor = torch.as_tensor(given) if tensor is None else tensor
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"The {what} must be a text or token ids; give one of them.") from error
    if tensor.dim() == 2 and len(tensor) == 1:
        tensor = tensor[0]
    if (
        tensor.dim() != 1
        or not len(tensor)
        or tensor.is_floating_point()
        or tensor.dtype == torch.bool
    ):
        raise InputError(
            f"The {what} have the shape {tuple(tensor.shape)} but must be the token ids of one"
            " example; give a sequence of whole numbers."
        )
    if len(tensor) > MAX_ITEMS:
        raise InputError(
            f"The {what} have {len(tensor):,} tokens but at most {MAX_ITEMS:,} are possible;"
            " shorten them."
        )
    return tuple(int(token) for token in tensor.tolist())
